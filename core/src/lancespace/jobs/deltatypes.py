"""The types of a Delta table's columns as Arrow's: what its files say may be narrower, or nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

_DECIMAL = re.compile(r"decimal\((\d+), ?(-?\d+)\)")


def packed(text: str | None, folder: str) -> bytes | None:
    """The schema of a log as Arrow serializes it; None if the log has none.

    Raises:
        InvalidInputError: If it has a type that is unknown here.
    """
    import pyarrow as pa

    if text is None:
        return None
    schema = pa.schema([_field(one, folder) for one in json.loads(text)["fields"]])
    data: bytes = schema.serialize().to_pybytes()
    return data


def _field(one: dict[str, Any], folder: str) -> pa.Field:
    import pyarrow as pa

    return pa.field(one["name"], _type(one["type"], folder), nullable=one.get("nullable", True))


def _type(given: Any, folder: str) -> pa.DataType:
    import pyarrow as pa

    if isinstance(given, str):
        return _simple(given, folder)
    if given["type"] == "struct":
        return pa.struct([_field(one, folder) for one in given["fields"]])
    if given["type"] == "array":
        return pa.list_(_type(given["elementType"], folder))
    return pa.map_(_type(given["keyType"], folder), _type(given["valueType"], folder))


def _simple(name: str, folder: str) -> pa.DataType:
    import pyarrow as pa

    if found := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(found[1]), int(found[2]))
    known = {
        "string": pa.string(),
        "long": pa.int64(),
        "integer": pa.int32(),
        "short": pa.int16(),
        "byte": pa.int8(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    if name not in known:
        raise InvalidInputError(
            f"the Delta table {folder} has a column of type {name}, which is not read here: import what Spark reads"
        )
    return known[name]

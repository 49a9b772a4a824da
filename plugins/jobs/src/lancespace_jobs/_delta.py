"""What a Delta table consists of; its folder also holds files of rows that were deleted or replaced."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from lance_namespace import InvalidInputError

LOG = "_delta_log"
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_COMMIT = re.compile(r"(\d{20})\.json")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")
_MAPPING = "delta.columnMapping.mode"

Action = dict[str, Any]
Values = tuple[tuple[str, "str | None"], ...]
"""Columns that files do not have themselves, and their values."""


@dataclass(frozen=True)
class DeltaTable:
    """The latest version of a Delta table."""

    folder: str
    files: Mapping[str, Values]
    """The Parquet files by their paths, with the values of the columns that the table is partitioned by."""
    schema: bytes | None
    """Its columns, as Arrow has them."""


def read(filesystem: Any, folder: str) -> DeltaTable | None:
    """The table in a folder; None if there is no Delta table.

    Raises:
        InvalidInputError: If its log is not whole, or it uses something that its files alone do not tell.
    """
    folder = folder.rstrip("/")
    if not filesystem.exists(f"{folder}/{LOG}"):
        return None
    live: dict[tuple[str, str], Action] = {}
    metadata: Action = {}
    for action in _actions(filesystem, folder):
        if removed := action.get("remove"):
            live.pop(_identity(removed), None)
        if added := action.get("add"):
            live[_identity(added)] = added
        metadata = action.get("metaData") or metadata
    _refuse_what_is_not_read(folder, live, metadata)
    files = {f"{folder}/{unquote(one['path'])}": _values(one) for one in live.values()}
    return DeltaTable(folder, files, _packed(metadata.get("schemaString"), folder))


def _actions(filesystem: Any, folder: str) -> Iterator[Action]:
    """What the latest checkpoint holds, and what the commits after it did, in order; none of them may be missing."""
    names = {posixpath.basename(path) for path in filesystem.ls(f"{folder}/{LOG}", detail=False)}
    start, parts = _checkpoint(names)
    commits = {int(found[1]): name for name in names if (found := _COMMIT.fullmatch(name)) and int(found[1]) > start}
    missing = sorted(set(range(start + 1, max(commits, default=start) + 1)) - commits.keys())
    if missing or (start < 0 and not commits):
        raise InvalidInputError(
            f"the log of the Delta table {folder} lacks version {missing[0] if missing else 0}, and has no checkpoint "
            "after it that is read here: import what Spark reads of it"
        )
    for part in parts:
        yield from _rows(filesystem, f"{folder}/{LOG}/{part}")
    for version in sorted(commits):
        lines = filesystem.cat_file(f"{folder}/{LOG}/{commits[version]}").splitlines()
        yield from (json.loads(line) for line in lines if line.strip())


def _checkpoint(names: set[str]) -> tuple[int, list[str]]:
    """The version and the files of the latest checkpoint all of whose parts are there; -1 if there is none.

    The file ``_last_checkpoint`` is only a hint, which may be old or missing.
    """
    whole: dict[tuple[int, int], list[str]] = {}
    for name in sorted(names):
        if found := _CHECKPOINT.fullmatch(name):
            whole.setdefault((int(found[1]), int(found[3] or 1)), []).append(name)
    complete = [(version, parts) for (version, count), parts in whole.items() if len(parts) == count]
    return max(complete, default=(-1, []))


def _rows(filesystem: Any, path: str) -> Iterator[Action]:
    with filesystem.open(path) as file:
        parquet = pq.ParquetFile(file)
        known = [name for name in ("add", "metaData") if name in parquet.schema_arrow.names]
        yield from parquet.read(columns=known).to_pylist()


def _identity(action: Action) -> tuple[str, str]:
    """A file is another one with other deleted rows."""
    vector = action.get("deletionVector") or {}
    return action["path"], " ".join(str(vector.get(part)) for part in ("storageType", "pathOrInlineDv", "offset"))


def _values(added: Action) -> Values:
    """Its partition; an empty text is no value."""
    values = dict(added.get("partitionValues") or {})
    return tuple((name, text or None) for name, text in values.items())


def _refuse_what_is_not_read(folder: str, live: Mapping[Any, Action], metadata: Action) -> None:
    if any(one.get("deletionVector") is not None for one in live.values()):
        raise InvalidInputError(
            f"the Delta table {folder} has deletion vectors, so its files hold rows that are deleted: "
            "run REORG TABLE ... APPLY (PURGE) on it first, or import what Spark reads of it"
        )
    if dict(metadata.get("configuration") or {}).get(_MAPPING, "none") != "none":
        raise InvalidInputError(
            f"the Delta table {folder} has column mapping, so its files have other names for its columns: "
            "import what Spark reads of it"
        )
    if outside := [one["path"] for one in live.values() if _ABSOLUTE.match(one["path"])]:
        raise InvalidInputError(
            f"the Delta table {folder} names the file {outside[0]}, which is not in its folder, as a shallow clone "
            "does: import the table that it is a clone of, or what Spark reads of it"
        )


_DECIMAL = re.compile(r"decimal\((\d+), ?(-?\d+)\)")


def _packed(text: str | None, folder: str) -> bytes | None:
    """The schema of a log as Arrow serializes it; None if the log has none.

    Raises:
        InvalidInputError: If it has a type that is unknown here.
    """
    if text is None:
        return None
    schema = pa.schema([_field(one, folder) for one in json.loads(text)["fields"]])
    data: bytes = schema.serialize().to_pybytes()
    return data


def _field(one: dict[str, Any], folder: str) -> pa.Field:
    return pa.field(one["name"], _type(one["type"], folder), nullable=one.get("nullable", True))


def _type(given: Any, folder: str) -> pa.DataType:
    if isinstance(given, str):
        return _simple(given, folder)
    if given["type"] == "struct":
        return pa.struct([_field(one, folder) for one in given["fields"]])
    if given["type"] == "array":
        return pa.list_(_type(given["elementType"], folder))
    return pa.map_(_type(given["keyType"], folder), _type(given["valueType"], folder))


def _simple(name: str, folder: str) -> pa.DataType:
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

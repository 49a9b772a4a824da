"""Arrow schemas as the spec's JSON, and back.

The names are those of the Lance Namespace implementations: lower-case Rust names, ``length`` for fixed sizes, and
``precision * 1000 + scale`` as the length of a decimal. That form does not carry the unit and the time zone of temporal
types; on the way in, they may be given in brackets (``timestamp[us, tz=UTC]``), otherwise the default is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from lance_namespace import InvalidInputError
from lance_namespace_urllib3_client.models.json_arrow_data_type import JsonArrowDataType
from lance_namespace_urllib3_client.models.json_arrow_field import JsonArrowField
from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema
from pydantic import ValidationError

_PLAIN: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "bool": pa.bool_(),
    **{f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "utf8": pa.string(),
    "large_utf8": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "date32": pa.date32(),
    "date64": pa.date64(),
}
_NAMES = {kind: name for name, kind in _PLAIN.items()}

_ALIASES = {
    "boolean": "bool",
    "string": "utf8",
    "large_string": "large_utf8",
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
}
"""What Arrow's other libraries, and people, call the same types."""

_TEMPORAL: Mapping[str, tuple[str, Callable[..., pa.DataType]]] = {
    "time32": ("ms", pa.time32),
    "time64": ("us", pa.time64),
    "timestamp": ("us", pa.timestamp),
    "duration": ("us", pa.duration),
}
"""Name, unit if none is given, and constructor."""

_DECIMALS: Mapping[str, Callable[[int, int], pa.DataType]] = {
    f"decimal{bits}": getattr(pa, f"decimal{bits}") for bits in (32, 64, 128, 256) if hasattr(pa, f"decimal{bits}")
}
_LISTS: Mapping[str, Callable[[pa.Field], pa.DataType]] = {"list": pa.list_, "large_list": pa.large_list}
_BRACKETS = re.compile(r"(\w+)\[(\w+)(?:, ?tz=([^\]]+))?\]")


def schema_to_json(schema: pa.Schema) -> JsonArrowSchema:
    """A schema with its metadata."""
    return JsonArrowSchema(fields=[_field_to_json(field) for field in schema], metadata=_decoded(schema.metadata))


def type_to_json(kind: pa.DataType) -> JsonArrowDataType:
    """A type; dictionaries are shown as their values and extensions as their storage, which is what a query returns.

    Raises:
        InvalidInputError: Lance has no such type.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return type_to_json(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return type_to_json(kind.value_type)
    if kind in _NAMES:
        return JsonArrowDataType(type=_NAMES[kind])
    if pa.types.is_decimal(kind):
        return JsonArrowDataType(type=f"decimal{kind.bit_width}", length=kind.precision * 1000 + kind.scale)
    if pa.types.is_fixed_size_binary(kind):
        return JsonArrowDataType(type="fixed_size_binary", length=kind.byte_width)
    return _temporal_to_json(kind) or _nested_to_json(kind)


def type_from_json(kind: JsonArrowDataType | Mapping[str, Any]) -> pa.DataType:
    """The inverse of :func:`type_to_json`; also takes the JSON object itself.

    Raises:
        InvalidInputError: The type is unknown or lacks a part, naming it.
    """
    if isinstance(kind, Mapping):
        try:
            kind = JsonArrowDataType.model_validate(dict(kind))
        except ValidationError as error:
            raise InvalidInputError(f"{dict(kind)} is not a data type: write it as {{'type': 'int64'}}") from error
    name = _ALIASES.get(kind.type.lower(), kind.type.lower())
    if name in _PLAIN:
        return _PLAIN[name]
    try:
        if name in _DECIMALS:
            return _DECIMALS[name](*divmod(_length(kind), 1000))
        if name == "fixed_size_binary":
            return pa.binary(_length(kind))
        return _temporal_from_json(kind.type) or _nested_from_json(name, kind)
    except ValueError as error:
        raise InvalidInputError(f"{kind.type!r} is not a data type: {error}") from error


def _temporal_to_json(kind: pa.DataType) -> JsonArrowDataType | None:
    name = str(kind).partition("[")[0]
    return JsonArrowDataType(type=name) if name in _TEMPORAL else None


def _temporal_from_json(name: str) -> pa.DataType | None:
    match = _BRACKETS.fullmatch(name)
    base, unit, zone = match.groups() if match else (name, None, None)
    if base.lower() not in _TEMPORAL:
        return None
    default, make = _TEMPORAL[base.lower()]
    return pa.timestamp(unit or default, zone) if make is pa.timestamp else make(unit or default)


def _nested_to_json(kind: pa.DataType) -> JsonArrowDataType:
    if pa.types.is_struct(kind):
        return JsonArrowDataType(type="struct", fields=[_field_to_json(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        entries = pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)
        return JsonArrowDataType(type="map", fields=[_field_to_json(entries)])
    if pa.types.is_fixed_size_list(kind):
        return JsonArrowDataType(
            type="fixed_size_list", fields=[_field_to_json(kind.value_field)], length=kind.list_size
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        name = "list" if pa.types.is_list(kind) else "large_list"
        return JsonArrowDataType(type=name, fields=[_field_to_json(kind.value_field)])
    raise InvalidInputError(f"the Arrow type {kind} has no place in a Lance table")


def _nested_from_json(name: str, kind: JsonArrowDataType) -> pa.DataType:
    fields = [_field_from_json(field) for field in kind.fields or []]
    if name == "struct":
        return pa.struct(fields)
    if name in _LISTS or name == "fixed_size_list":
        return _LISTS[name](_only(name, fields)) if name in _LISTS else pa.list_(_only(name, fields), _length(kind))
    if name == "map":
        entries = _only(name, fields).type
        if pa.types.is_struct(entries) and entries.num_fields == 2:  # noqa: PLR2004 - a key and a value
            return pa.map_(entries.field(0), entries.field(1))
        raise InvalidInputError("a 'map' needs one field, a struct of key and value")
    known = sorted([*_PLAIN, *_TEMPORAL, *_DECIMALS, *_LISTS, "fixed_size_binary", "fixed_size_list", "struct", "map"])
    raise InvalidInputError(f"unknown data type {kind.type!r}; known are {', '.join(known)}")


def _field_to_json(field: pa.Field) -> JsonArrowField:
    return JsonArrowField(
        name=field.name, nullable=field.nullable, type=type_to_json(field.type), metadata=_decoded(field.metadata)
    )


def _field_from_json(field: JsonArrowField) -> pa.Field:
    return pa.field(field.name, type_from_json(field.type), nullable=field.nullable, metadata=field.metadata)


def _decoded(metadata: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    return {key.decode(): value.decode() for key, value in metadata.items()} if metadata else None


def _length(kind: JsonArrowDataType) -> int:
    if kind.length is None:
        raise InvalidInputError(f"the data type {kind.type!r} needs a 'length'")
    return int(kind.length)


def _only(name: str, fields: list[pa.Field]) -> pa.Field:
    if len(fields) != 1:
        raise InvalidInputError(f"a {name!r} needs exactly one field, not {len(fields)}")
    return fields[0]

"""Whether rows can be written to a table, told by their types alone, before any task runs."""

from __future__ import annotations

import pyarrow as pa
from lance_namespace import TableSchemaValidationError

from lancespace_spark.casting import is_blob, is_list


def check_columns(given: pa.Schema, table: pa.Schema) -> None:
    """Refuse columns that a table lacks, or that cannot become what it has, and rows without what it needs.

    Raises:
        TableSchemaValidationError: Naming the column, and the field in it.
    """
    unknown = [name for name in given.names if name not in table.names]
    if unknown:
        raise TableSchemaValidationError(
            f"the table has no column {', '.join(map(repr, unknown))} (it has {', '.join(table.names)}): "
            "add it with alter_table_add_columns, or leave it out of what is written"
        )
    missing = [field.name for field in table if not field.nullable and field.name not in given.names]
    if missing:
        raise TableSchemaValidationError(
            f"what is written lacks the column {', '.join(map(repr, missing))}, which must not be null in the table"
        )
    for field in given:
        _check(field.name, field.type, table.field(field.name).type)


def _check(path: str, given: pa.DataType, wanted: pa.DataType) -> None:
    if pa.types.is_null(given) or given == wanted:
        return
    if isinstance(wanted, pa.BaseExtensionType):
        _check(path, given, pa.large_binary() if is_blob(wanted) else wanted.storage_type)
    elif pa.types.is_dictionary(wanted):
        _check(path, given, wanted.value_type)
    elif is_list(given) and is_list(wanted):
        _check(f"{path}[]", given.value_type, wanted.value_type)
    elif pa.types.is_struct(given) and pa.types.is_struct(wanted):
        _check_fields(path, given, wanted)
    elif pa.types.is_map(given) and pa.types.is_map(wanted):
        _check(f"{path}.key", given.key_type, wanted.key_type)
        _check(f"{path}.value", given.item_type, wanted.item_type)
    elif pa.types.is_nested(given) or pa.types.is_nested(wanted) or not _is_castable(given, wanted):
        raise TableSchemaValidationError(
            f"the column {path!r} is of the type {given} in what is written, and {wanted} in the table: cast it before"
        )


def _check_fields(path: str, given: pa.StructType, wanted: pa.StructType) -> None:
    names, known = ({kind.field(number).name for number in range(kind.num_fields)} for kind in (given, wanted))
    if names != known:
        raise TableSchemaValidationError(
            f"the column {path!r} has the fields {', '.join(sorted(names))} in what is written, and "
            f"{', '.join(sorted(known))} in the table: they must be the same"
        )
    for name in names:
        _check(f"{path}.{name}", given.field(name).type, wanted.field(name).type)


def _is_castable(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether there is a cast at all; whether a value fits is seen when it comes."""
    try:
        pa.array([], given).cast(wanted)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True

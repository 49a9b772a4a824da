"""Whether what a query or function yields is what the view's schema says, and making it exactly that."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from lance_namespace import TableSchemaValidationError

from lancespace.tables.layouts import is_same


def check(schema: pa.Schema, found: pa.Schema, who: str) -> None:
    """Refuse columns that are missing, too many, or of another type than the view's schema says.

    Raises:
        TableSchemaValidationError: Naming the column.
    """
    for column in schema:
        if column.name not in found.names:
            raise TableSchemaValidationError(
                f"{who} yields no column {column.name!r}, which output_schema has; it yields "
                f"{', '.join(found.names) or 'none'}."
            )
        kind = found.field(column.name).type
        if not is_same(column.type, kind):
            raise TableSchemaValidationError(
                f"{who} yields a column {column.name!r} that is {kind}, and in output_schema it is {column.type}: "
                "change one of them, for example with a CAST."
            )
    for name in found.names:
        if name not in schema.names:
            raise TableSchemaValidationError(f"{who} yields a column {name!r} that output_schema does not have.")


def conform(batch: pa.RecordBatch | pa.Table, schema: pa.Schema, who: str) -> pa.Table:
    """The same rows with exactly this schema.

    Raises:
        TableSchemaValidationError: Naming the column that cannot be taken.
    """
    check(schema, batch.schema, who)
    arrays = [_cast(batch.column(column.name), column, who) for column in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def from_rows(rows: list[dict[str, Any]], schema: pa.Schema, who: str) -> pa.Table:
    """Rows as a function yields them, as a table.

    Raises:
        TableSchemaValidationError: Naming the column that a row has wrong.
    """
    for row in rows:
        extra = set(row) - set(schema.names)
        if extra:
            raise TableSchemaValidationError(f"{who} yields a column {min(extra)!r} that output_schema does not have.")
    return pa.Table.from_arrays([_array(rows, column, who) for column in schema], schema=schema)


def _array(rows: list[dict[str, Any]], column: pa.Field, who: str) -> pa.Array:
    try:
        array = pa.array([row.get(column.name) for row in rows], column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError) as error:
        raise TableSchemaValidationError(
            f"{who} yields a value for the column {column.name!r} that is no {column.type}: {error}"
        ) from error
    return _without_nulls(array, column, who)


def _cast(array: Any, column: pa.Field, who: str) -> Any:
    try:
        cast = array if array.type == column.type else array.cast(column.type)
    except pa.ArrowInvalid as error:
        raise TableSchemaValidationError(
            f"{who} yields values for the column {column.name!r} that cannot be {column.type}: {error}"
        ) from error
    return _without_nulls(cast, column, who)


def _without_nulls(array: Any, column: pa.Field, who: str) -> Any:
    if not column.nullable and array.null_count:
        raise TableSchemaValidationError(
            f"{who} yields a null for the column {column.name!r}, which output_schema does not allow."
        )
    return array

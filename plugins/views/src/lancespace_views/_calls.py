"""Calling the function of a chunker or UDTF, and making what it or a query yields what the view's schema says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import InvalidInputError, LanceNamespaceError, TableSchemaValidationError

from lancespace_tables import is_same
from lancespace_views._definition import Call

_ROWS_AT_ONCE = 8192
"""The number of rows of a chunker that are written together, if it yields them one by one."""


def chunked(call: Call, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """What a chunker makes of each row, or each batch of rows."""
    who = f"The chunker {call.name!r}"
    function = call.function.load()
    for batch in batches:
        inputs = select(batch, call.input_columns)
        with _blaming(who):
            if call.is_batched:
                yield from _tables(function(inputs), schema, who)
            else:
                yield from _expanded(function, inputs, batch, schema, who)


def applied(call: Call, parts: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """What a UDTF makes of all rows of its input, or of those of each partition."""
    who = f"The UDTF {call.name!r}"
    function = call.function.load()
    for part in parts:
        with _blaming(who):
            yield from _tables(function(select(part, call.input_columns)), schema, who)


def select(rows: Any, columns: tuple[str, ...] | None) -> Any:
    """The rows with these columns only, each named by its path; a dot goes into a struct.

    Raises:
        InvalidInputError: If there is no such column.
    """
    if columns is None:
        return rows
    arrays = [column(rows, path) for path in columns]
    return type(rows).from_arrays(arrays, names=list(columns))


def check_columns(call: Call, schema: pa.Schema) -> None:
    """Refuse a function that reads columns which its query does not have.

    Raises:
        InvalidInputError: Naming the column.
    """
    select(schema.empty_table(), call.input_columns)
    if call.partition_by is not None:
        column(schema.empty_table(), call.partition_by)


def column(rows: Any, path: str) -> Any:
    """One column by its path.

    Raises:
        InvalidInputError: If there is none.
    """
    first, *inner = [path] if path in rows.schema.names else path.split(".")
    if first not in rows.schema.names:
        raise InvalidInputError(
            f"The query of the view has no column {path!r} for its function; it has {', '.join(rows.schema.names)}."
        )
    found = rows.column(first)
    for name in inner:
        if not pa.types.is_struct(found.type) or found.type.get_field_index(name) < 0:
            raise InvalidInputError(f"The column {first!r} of the view's query has no field {path!r}.")
        found = pc.struct_field(found, name)
    return found


@contextmanager
def _blaming(who: str) -> Iterator[None]:
    """What a function raises is the fault of its author, and not of the catalog."""
    try:
        yield
    except LanceNamespaceError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{who} failed: {type(error).__name__}: {error}") from error


def _expanded(
    function: Callable[..., Any], inputs: pa.RecordBatch, batch: pa.RecordBatch, schema: pa.Schema, who: str
) -> Iterator[pa.Table]:
    """Rows of the view: what the function yields for a row, beside the columns that it leaves to the row itself."""
    carried = batch.select([name for name in batch.schema.names if name in schema.names]).to_pylist()
    rows: list[dict[str, Any]] = []
    for number in range(batch.num_rows):
        values = (inputs.column(index)[number].as_py() for index in range(inputs.num_columns))
        rows.extend({**carried[number], **row} for row in function(*values))
        if len(rows) >= _ROWS_AT_ONCE:
            yield from_rows(rows, schema, who)
            rows = []
    yield from_rows(rows, schema, who)


def _tables(answer: Any, schema: pa.Schema, who: str) -> Iterator[pa.Table]:
    """What a function returned, in any of the forms that it may: Arrow, a list of dicts, or an iterator of either."""
    if hasattr(answer, "__arrow_c_stream__"):
        answer = pa.table(answer)
    elif hasattr(answer, "__arrow_c_array__"):
        answer = pa.record_batch(answer)
    if isinstance(answer, (pa.Table, pa.RecordBatch)):
        yield conform(answer, schema, who)
    elif isinstance(answer, list):
        yield from_rows(answer, schema, who)
    elif isinstance(answer, Iterator):
        for part in answer:
            yield from _tables([part] if isinstance(part, dict) else part, schema, who)
    else:
        raise InvalidInputError(
            f"{who} returned {type(answer).__name__}: it must return an Arrow table or batch, a list of dicts, "
            "or an iterator of those."
        )


def check_schema(schema: pa.Schema, found: pa.Schema, who: str) -> None:
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
    check_schema(schema, batch.schema, who)
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

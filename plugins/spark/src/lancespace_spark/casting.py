"""Record batches between the types that Lance stores and those that Spark takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import TableSchemaValidationError

if TYPE_CHECKING:
    import numpy as np


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns that a schema names, in its types.

    Raises:
        TableSchemaValidationError: If a value has no place in its column's type.
    """
    arrays = [_cast_column(field.name, batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast_column(name: str, column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    try:
        return _cast(column, kind)
    except pa.ArrowInvalid as error:
        raise TableSchemaValidationError(f"column {name!r}: {error}") from error


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(kind) and pa.types.is_list(column.type):
        return to_vectors(column, kind)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(kind, safe=False)  # Spark has microseconds: what is finer is cut off.
    return column.cast(kind)


def to_vectors(column: pa.ListArray, kind: pa.FixedSizeListType) -> pa.FixedSizeListArray:
    """Lists as vectors, without pyarrow's own cast, which crashes the process on a batch of nulls only.

    Raises:
        pyarrow.ArrowInvalid: If a list has another length.
    """
    size = kind.list_size
    valid = column.is_valid()
    if pc.any(pc.and_(valid, pc.not_equal(pc.list_value_length(column), size))).as_py():
        raise pa.ArrowInvalid(f"every vector must have exactly {size} items")
    items = column.flatten().cast(kind.value_type)
    if column.null_count == 0:
        return pa.FixedSizeListArray.from_arrays(items, type=kind)
    spread = items.take(_positions(valid.to_numpy(zero_copy_only=False), size))
    return pa.FixedSizeListArray.from_arrays(spread, type=kind, mask=pc.invert(valid))


def _positions(valid: np.ndarray, size: int) -> pa.Array:
    """Where each item of the spread-out vectors is among the items that exist; null for those of null vectors."""
    import numpy as np

    before = np.cumsum(valid) - 1
    positions = (before[:, None] * size + np.arange(size)).ravel()
    return pa.array(positions, mask=np.repeat(~valid, size))

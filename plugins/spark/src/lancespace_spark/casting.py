"""Record batches between the types that Lance stores and those that Spark takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import TableSchemaValidationError

if TYPE_CHECKING:
    import numpy as np

BLOB = "lance.blob.v2"
"""The extension type of large binary values that Lance keeps beside the others."""


def is_blob(kind: pa.DataType) -> bool:
    """Whether values of a type are such blobs, which Spark sees as their bytes."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == BLOB


def is_list(kind: pa.DataType) -> bool:
    """Whether values of a type are lists, of one length or any."""
    return bool(_is_of_any_length(kind) or pa.types.is_fixed_size_list(kind))


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns that a schema names, in its types.

    Raises:
        TableSchemaValidationError: If a value has no place in its column's type.
    """
    arrays = [_cast_column(field.name, batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast_column(name: str, column: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return _cast(column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableSchemaValidationError(f"column {name!r}: {error}") from error


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Field by field where values consist of others: pyarrow makes up fields that are missing, and drops others."""
    given = column.type
    if given == kind or pa.types.is_null(given):
        return column if given == kind else pa.nulls(len(column), kind)
    if is_blob(kind) or pa.types.is_dictionary(kind):
        return _to_blobs(column, kind) if is_blob(kind) else _to_dictionary(column, kind)
    if pa.types.is_struct(given) and pa.types.is_struct(kind):
        return _cast_fields(column, kind)
    if pa.types.is_fixed_size_list(kind) and _is_of_any_length(given):
        return to_vectors(column, kind)
    if _is_of_any_length(kind) and _is_of_any_length(given) and given.value_type != kind.value_type:
        return _cast_items(column, kind)
    return _cast_values(column, kind)


def _cast_values(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(kind, safe=False)  # Spark has microseconds: what is finer is cut off.
    stored = column.cast(kind)
    if pa.types.is_floating(kind) and _infinite(stored) > _infinite(column):
        raise pa.ArrowInvalid(f"a number is too large for the type {kind}")
    return stored


def _infinite(column: pa.Array) -> int:
    """How many numbers are infinite."""
    if not pa.types.is_floating(column.type):
        return 0
    return pc.sum(pc.is_inf(column.cast(pa.float64()))).as_py() or 0


def _cast_fields(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    parts = dict(zip((one.name for one in column.type), column.flatten(), strict=True))
    fields = [kind.field(number) for number in range(kind.num_fields)]
    if parts.keys() != {field.name for field in fields}:
        raise pa.ArrowInvalid(f"the fields of {column.type} are not those of {kind}")
    stored = [_cast(parts[field.name], field.type) for field in fields]
    return pa.StructArray.from_arrays(stored, fields=fields, mask=column.is_null())


def _cast_items(column: pa.ListArray, kind: pa.ListType) -> pa.ListArray:
    import numpy as np

    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    is_large = pa.types.is_large_list(kind)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64() if is_large else pa.int32())
    maker = pa.LargeListArray if is_large else pa.ListArray
    return maker.from_arrays(offsets, _cast(column.flatten(), kind.value_type), type=kind, mask=column.is_null())


def _to_dictionary(column: pa.Array, kind: pa.DictionaryType) -> pa.DictionaryArray:
    encoded = _cast(column, kind.value_type).dictionary_encode()
    indices = encoded.indices.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=kind.ordered)


def _to_blobs(column: pa.Array, kind: pa.BaseExtensionType) -> pa.ExtensionArray:
    """Bytes as blobs, which may also be addresses of files."""
    values = {"data": column.cast(pa.large_binary())}
    fields = [kind.storage_type.field(number) for number in range(kind.storage_type.num_fields)]
    parts = [values.get(field.name, pa.nulls(len(column), field.type)) for field in fields]
    stored = pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
    return pa.ExtensionArray.from_storage(kind, stored)


def to_vectors(column: pa.ListArray, kind: pa.FixedSizeListType) -> pa.FixedSizeListArray:
    """Lists as vectors, without pyarrow's own cast, which crashes the process on a batch of nulls only.

    Raises:
        pyarrow.ArrowInvalid: If a list has another length.
    """
    size = kind.list_size
    valid = column.is_valid()
    if pc.any(pc.and_(valid, pc.not_equal(pc.list_value_length(column), size))).as_py():
        raise pa.ArrowInvalid(f"every vector must have exactly {size} items")
    items = _cast(column.flatten(), kind.value_type)
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


def _is_of_any_length(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))

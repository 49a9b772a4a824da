"""Layouts of Arrow data: texts, bytes and lists have several, and which one a library uses is no matter of the table.

pandas has its texts as ``large_string``, polars as ``string_view``, pyarrow as ``string``. Lance refuses to append one
to the other, so what a caller sends is brought into the layout of the table's columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lancespace_tables._virtual_columns import CREATOR_KEY

_FAMILIES: tuple[tuple[Any, ...], ...] = (
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
    (pa.types.is_list, pa.types.is_large_list),
    (pa.types.is_struct,),
    (pa.types.is_dictionary,),
)
"""Types that are one to a person, as far as what is in them is."""


def is_same(wanted: pa.DataType, found: pa.DataType) -> bool:
    """Whether two types differ at most in how Arrow lays them out."""
    if wanted.equals(found):
        return True
    is_one_kind = any(any(kind(wanted) for kind in each) and any(kind(found) for kind in each) for each in _FAMILIES)
    if not is_one_kind:
        return False
    if pa.types.is_struct(wanted):
        return [field.name for field in wanted] == [field.name for field in found] and all(
            is_same(one.type, other.type) for one, other in zip(wanted, found, strict=True)
        )
    if pa.types.is_dictionary(wanted) and wanted.index_type != found.index_type:
        return False
    return not hasattr(wanted, "value_type") or is_same(wanted.value_type, found.value_type)


def to_layout(data: pa.RecordBatchReader, table: pa.Schema) -> pa.RecordBatchReader:
    """The same data in the layout of a table; columns that differ in more are left for Lance to refuse."""
    schema = pa.schema([_fitted(field, table) for field in data.schema], metadata=data.schema.metadata)
    return _cast(data, schema)


def to_storable(data: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same data as Lance can write it: the words of a dictionary cannot be views, as polars has them.

    Columns that were copied from virtual ones do not take along who has sent the function: anybody could write that.
    """
    return _cast(data, pa.schema([_storable(field) for field in data.schema], metadata=data.schema.metadata))


def _cast(data: pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    if schema.equals(data.schema, check_metadata=True):
        return data
    return pa.RecordBatchReader.from_batches(schema, _batches(data, schema))


def _batches(data: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in data:
        yield batch.cast(schema)


def _fitted(field: pa.Field, table: pa.Schema) -> pa.Field:
    wanted = table.field(field.name).type if table.names.count(field.name) == 1 else field.type
    return field.with_type(wanted) if is_same(wanted, field.type) else field


def _storable(field: pa.Field) -> pa.Field:
    kind = field.type
    if CREATOR_KEY.encode() in (field.metadata or {}):
        kept = {key: value for key, value in field.metadata.items() if key != CREATOR_KEY.encode()}
        field = field.with_metadata(kept)
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return field.with_type(pa.dictionary(kind.index_type, pa.string(), ordered=kind.ordered))
    return field

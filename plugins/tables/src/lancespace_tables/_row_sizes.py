"""How much memory the rows of a query take, estimated before it runs.

Lance has no limit of memory for a query. A scan holds a few batches, so the rows of a batch are limited. A search holds
its whole result, so a server refuses one that is too large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    import lance

    from lancespace_tables._vectors import Query

BATCH_BYTES = 8 << 20
"""The size of a batch of a scan; a batch of narrow rows is smaller, as it has at most Lance's number of rows."""

_LANCE_ROWS = 8192
"""Rows in a batch by default."""


def batch_rows(dataset: lance.LanceDataset) -> int | None:
    """The most rows that a batch of a scan may have; None for Lance's default."""
    rows = BATCH_BYTES // max(_row_bytes(dataset), 1)
    return None if rows >= _LANCE_ROWS else max(rows, 1)


def check_result(dataset: lance.LanceDataset, query: Query, found: int, limit: int) -> None:
    """Refuse a search that finds up to ``found`` rows if they take more memory than the limit.

    Raises:
        InvalidInputError: Saying how large the result is.
    """
    if min(found, dataset.count_rows()) * _row_bytes(dataset) <= limit:
        return
    size = min(found, dataset.count_rows()) * _row_bytes_of(dataset, query)
    if size > limit:
        raise InvalidInputError(
            f"k: the {found} rows that the search may find take about {size} bytes of memory, and {limit} are allowed: "
            "ask for fewer rows, or for fewer columns with 'columns'."
        )


def _row_bytes(dataset: lance.LanceDataset) -> int:
    """The bytes of a row with all columns, in the fragment with the largest rows; 0 if the files do not say."""
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    stored = [
        sum(file.file_size_bytes or 0 for file in fragment.files) // max(fragment.physical_rows, 1)
        for fragment in fragments
    ]
    return int(max([*stored, sum(map(_fixed_bytes, dataset.schema.types))]))


def _row_bytes_of(dataset: lance.LanceDataset, query: Query) -> int:
    """The bytes of a row with the columns of a query, on average; an alias may be made from any column."""
    names = query.columns.column_names if query.columns is not None else None
    if not names:
        return _row_bytes(dataset)
    chosen = {name.partition(".")[0] for name in names}
    stored = {field.id: field.bytes_on_disk for field in dataset.stats.data_stats().fields}
    fields = [field for field in dataset.lance_schema.fields() if field.name() in chosen]
    on_disk = sum(stored.get(number, 0) for field in fields for number in _ids(field))
    fixed = sum(_fixed_bytes(dataset.schema.field(field.name()).type) for field in fields)
    return int(max(on_disk // max(dataset.count_rows(), 1), fixed))


def _ids(field: object) -> list[int]:
    return [field.id(), *(number for child in field.children() for number in _ids(child))]  # type: ignore[attr-defined]


def _fixed_bytes(kind: pa.DataType) -> int:
    """The bytes of a value in memory, as far as its type says."""
    if isinstance(kind, pa.BaseExtensionType):
        return _fixed_bytes(kind.storage_type)
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size * _fixed_bytes(kind.value_type))
    if pa.types.is_struct(kind):
        return sum(_fixed_bytes(kind.field(number).type) for number in range(kind.num_fields))
    try:
        return int(kind.bit_width // 8)
    except ValueError:  # Values differ in size.
        return 0

"""A scan that takes longer than credentials live: the same for every store."""
# ruff: noqa: INP001, S101 - it stands beside packages, in none, and is a part of their tests.

from __future__ import annotations

from typing import TYPE_CHECKING

import lance
import pyarrow as pa

from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from lancespace import Namespace

LIFE_SECONDS = 3
ROWS = 1_000_000
FRAGMENTS = 10


def write_long_table(location: str, options: dict[str, str]) -> None:
    """A table of more fragments than a reader fetches ahead."""
    rows = pa.table({"id": pa.array(range(ROWS), pa.int64())})
    lance.write_dataset(rows, location, storage_options=options, max_rows_per_file=ROWS // FRAGMENTS)


def scan_beyond_expiry(namespace: Namespace, table: str) -> tuple[int, str]:
    """Begin two scans, and go on when the store refuses the credentials that both began with.

    Returns how many rows the one read that asks the namespace for new ones, and how the one without them broke.
    """
    described = namespace.describe_table(table)
    location, first = described.location or "", described.storage_options
    offset = {"refresh_offset_millis": "1000"}
    renewed = _begin(lance.dataset(namespace_client=namespace, table_id=[table], storage_options=offset))
    static = _begin(lance.dataset(location, storage_options=first))
    rows = len(renewed.read_next_batch())
    assert len(static.read_next_batch()) == rows
    until(lambda: _opens(location, first), lambda is_open: not is_open)
    rows += sum(len(batch) for batch in renewed)
    try:
        list(static)
    except pa.ArrowInvalid as error:
        return rows, str(error)
    return rows, ""


def _begin(dataset: lance.LanceDataset) -> pa.RecordBatchReader:
    return dataset.scanner(batch_readahead=1, fragment_readahead=1, io_buffer_size=1, batch_size=10_000).to_reader()


def _opens(location: str, options: dict[str, str] | None) -> bool:
    try:
        lance.dataset(location, storage_options=options)
    except (OSError, ValueError):
        return False
    return True

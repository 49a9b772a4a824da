"""Reads of a few rows: an index or a search finds them while the read is planned, and no task has to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lancespace_spark.casting import cast_batch
from lancespace_spark.partitions import RowsPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import lance
    import pyarrow as pa

    from lancespace_spark.options import SourceOptions

MOST_ROWS = 1000
"""How many rows may travel with a plan; more are read by tasks."""
MOST_UNINDEXED = 100_000
"""How many rows that no index covers are looked through on the driver."""

EXACT = frozenset({"BTree", "Bitmap"})
"""Types of indexes that tell exactly which rows match."""


def search(options: SourceOptions, wire: pa.Schema) -> RowsPartition:
    """The rows that a vector or full-text query answers."""
    wanted: dict[str, Any] = {"columns": wire.names, "filter": options.get("filter"), **options.search}
    if options.version is not None:
        wanted["version"] = options.handle.open(options.version, options.get("branch")).version
    wanted["branch"] = options.get("branch")
    table = options.handle.namespace.table(list(options.handle.id))
    found = table.query(**{name: value for name, value in wanted.items() if value is not None})
    return pack(found, wire)


@dataclass(frozen=True)
class LookUp:
    """Rows for which a filter holds, with Lance's plan to find them."""

    dataset: lance.LanceDataset
    scanner: lance.LanceScanner
    plan: str
    wire: pa.Schema

    def rows(self) -> pa.Table | None:
        """The rows, if an index finds them and they are few; None otherwise."""
        import pyarrow as pa

        if not _is_by_index(self.dataset, self.plan):
            return None
        rows = self.scanner.to_table()
        if rows.num_rows > MOST_ROWS:
            return None
        return pa.Table.from_batches([cast_batch(batch, self.wire) for batch in rows.to_batches()], self.wire)


def plan(dataset: lance.LanceDataset, filter_text: str, wire: pa.Schema) -> LookUp:
    """Plan a look-up.

    Raises:
        ValueError: If Lance cannot evaluate the filter; on an unsigned column it refuses negative numbers. Or OSError.
    """
    scanner = dataset.scanner(columns=wire.names, filter=filter_text, limit=MOST_ROWS + 1, blob_handling="all_binary")
    return LookUp(dataset, scanner, scanner.explain_plan(verbose=True), wire)


def pack(batches: Iterable[pa.RecordBatch], wire: pa.Schema) -> RowsPartition:
    """A few rows as a partition."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, wire) as writer:
        for batch in batches:
            writer.write_batch(cast_batch(batch, wire))
    return RowsPartition(sink.getvalue().to_pybytes())


def unpack(partition: RowsPartition) -> Iterator[pa.RecordBatch]:
    """The rows again."""
    import pyarrow as pa

    yield from pa.ipc.open_stream(partition.rows)


def _is_by_index(dataset: lance.LanceDataset, plan: str) -> bool:
    """Whether indexes alone find the rows, so that hardly any others are read.

    Only the plan's text tells. A look-up reads all that was appended since its index was built, so that must be little.
    """
    used = [index for index in dataset.describe_indices() if f"]@{index.name}(" in plan]
    is_exact = "refine_filter=--" in plan and all(index.index_type in EXACT for index in used)
    return bool(used) and is_exact and all(_unindexed_rows(dataset, index) <= MOST_UNINDEXED for index in used)


def _unindexed_rows(dataset: lance.LanceDataset, index: Any) -> int:
    covered = {number for segment in index.segments for number in segment.fragment_ids}
    return sum(one.count_rows() for one in dataset.get_fragments() if one.fragment_id not in covered)

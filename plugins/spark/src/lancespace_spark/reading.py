"""Batch reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from lancespace_spark import columns, lookups
from lancespace_spark.casting import cast_batch, is_blob
from lancespace_spark.partitions import PARTITION_BYTES, RowsPartition, ScanPartition, Span, row_bytes, share_out
from lancespace_spark.types import wire_schema

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from lancespace_spark.options import SourceOptions


BATCH_ROWS = 1 << 16
"""How many rows are handed to Spark at once, by default; each time costs Python and Java half a millisecond."""
BATCH_BYTES = 8 << 20
"""The same in bytes: whichever is reached first."""


class TableReader(DataSourceReader):
    """Reads one version of a table: the one that was the latest when the read was planned, unless told otherwise."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """One for each group of fragments; a few rows that an index or a search finds are one by themselves."""
        if self._options.search:
            return [lookups.search(self._options, wire_schema(self._schema))]
        dataset = self._options.handle.open(self._options.version, self._options.get("branch"))
        since = self._options.get("since_version")
        if since:  # After version 0 is the whole table.
            from lancespace_spark.streams import increments

            found = list(increments(self._options, dataset, since, dataset.version, self._schema.names))
            return found or [ScanPartition((), dataset.version)]
        columns.check(self._schema.names, dataset, dataset)
        few = self._looked_up(dataset)
        if few is not None:
            return [few]
        chosen = self._options.get("fragments")
        fragments = dataset.get_fragments() if chosen is None else [dataset.get_fragment(number) for number in chosen]
        return partitions_of(dataset, fragments, self._options, self._schema.names)

    def _looked_up(self, dataset: lance.LanceDataset) -> RowsPartition | None:
        """The rows that an index finds, if they are few."""
        condition, wire = self._options.get("filter"), wire_schema(self._schema)
        names = columns.projection(columns.matched(wire.names, dataset))
        has_blobs = any(is_blob(field.type) for field in dataset.schema if field.name in names)
        if not condition or isinstance(names, dict) or has_blobs:
            return None
        rows = lookups.plan(dataset, condition, wire).rows()
        return None if rows is None else lookups.pack(rows.to_batches(), wire)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, as Spark's JVM expects them."""
        if isinstance(partition, RowsPartition):
            return lookups.unpack(partition)
        return read_rows(self._options, wire_schema(self._schema), partition)


def partitions_of(
    dataset: lance.LanceDataset, fragments: Sequence[Any], options: SourceOptions, names: Sequence[str]
) -> list[ScanPartition]:
    """Share fragments out to tasks; without any, one task that reads nothing, as Spark wants at least one."""
    import pyarrow as pa

    read = [field for field in dataset.schema if field.name in names]
    shares = share_out(
        [(fragment.fragment_id, fragment.count_rows()) for fragment in fragments],
        options.get("partition_rows") or PARTITION_BYTES // max(1, row_bytes(pa.schema(read))) or 1,
        at_least=options.get("partitions") or os.cpu_count() or 1,
        cut=not options.get("filter"),  # Rows that pass a filter are not counted by offset.
    )
    return [ScanPartition(spans, dataset.version) for spans in shares] or [ScanPartition((), dataset.version)]


def read_rows(options: SourceOptions, wire: pa.Schema, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The rows of a partition."""
    if isinstance(partition, ScanPartition) and partition.spans:
        dataset = options.handle.open(partition.version, options.get("branch"))
        yield from _batches(options, dataset, partition.spans, wire)


def _batches(
    options: SourceOptions, dataset: lance.LanceDataset, spans: tuple[Span, ...], wire: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Scan fragments, with the filter and the columns pushed into Lance."""
    names = columns.projection(columns.matched(wire.names, dataset))
    for scan in _scans(spans):
        scanner = dataset.scanner(
            columns=names,
            filter=options.get("filter"),
            fragments=[dataset.get_fragment(span.fragment) for span in scan],
            offset=scan[0].offset,
            limit=None if scan[0].offset is None else scan[0].rows,
            batch_size=options.get("batch_size") or BATCH_ROWS,
            batch_size_bytes=BATCH_BYTES,
            blob_handling="all_binary",
        )
        for batch in scanner.to_batches():
            if batch.num_rows:
                yield cast_batch(_with_later_columns(batch, wire), wire)


def _with_later_columns(batch: pa.RecordBatch, wire: pa.Schema) -> pa.RecordBatch:
    """Rows of a version that did not have a column yet have nulls in it."""
    import pyarrow as pa

    for field in wire:
        if field.name not in batch.schema.names:
            batch = batch.append_column(field, pa.nulls(batch.num_rows, field.type))
    return batch


def _scans(spans: tuple[Span, ...]) -> list[tuple[Span, ...]]:
    """Whole fragments are read together, parts of fragments one by one."""
    whole = tuple(span for span in spans if span.offset is None)
    return [*([whole] if whole else []), *((span,) for span in spans if span.offset is not None)]

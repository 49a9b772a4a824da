"""Scans of a table as functions of Spark's, for statements that tell beforehand what they read.

Of the rows of a data source Spark makes one more copy each, keeps count of them, and asks two other Pythons while it
plans. A function that tasks run to get rows has none of that: a read takes a quarter to a third less.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace_spark import aggregates
from lancespace_spark.mapping import map_batches
from lancespace_spark.options import SourceOptions
from lancespace_spark.reading import partitions_of, read_rows
from lancespace_spark.types import spark_schema, wire_schema

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lancespace_jobs import TableSpec
    from lancespace_spark.aggregates import Aggregate
    from lancespace_spark.partitions import ScanPartition

_SHOWN = 1000
"""How many characters of a filter plans show: one with a long list would fill them."""


@dataclass(frozen=True)
class TableScan:
    """What a task runs: it is handed the number of a partition, and answers its rows, or a row of aggregates."""

    options: SourceOptions
    read: pa.Schema
    """The columns that Lance reads."""
    partitions: Sequence[ScanPartition]
    aggregates: Sequence[Aggregate] = ()

    @property
    def __name__(self) -> str:
        """What Spark shows of it in plans; it shows the values of conditions of its own there, too."""
        condition = self.options.get("filter") or ""
        told = condition if len(condition) <= _SHOWN else f"{condition[:_SHOWN]}…"
        computed = [f"{one.function}({one.column or '*'})" for one in self.aggregates]
        parts = [self.options.handle.name, *([f"where {told}"] if told else []), *computed]
        return f"lancespace[{'; '.join(parts)}]"

    @property
    def schema(self) -> StructType:
        """The columns that it answers."""
        wire = wire_schema(spark_schema(self.read))
        return spark_schema(aggregates.part_schema(self.aggregates, wire) if self.aggregates else self.read)

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the partitions with these numbers, as Spark's JVM expects them."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self._rows(self.partitions[number])

    def _rows(self, partition: ScanPartition) -> Iterator[pa.RecordBatch]:
        rows = read_rows(self.options, wire_schema(spark_schema(self.read)), partition)
        if not self.aggregates:
            return rows
        return iter([aggregates.part(self.aggregates, rows, wire_schema(self.schema))])


def scan(
    spark: SparkSession,
    handle: TableSpec,
    dataset: lance.LanceDataset,
    read: pa.Schema,
    condition: str | None = None,
    wanted: Sequence[Aggregate] = (),
) -> DataFrame:
    """Rows of a version of a table for which a condition in Lance's SQL holds, or a row of aggregates for each task."""
    options = SourceOptions(handle, {"filter": condition, "partitions": spark.sparkContext.defaultParallelism})
    partitions = partitions_of(dataset, dataset.get_fragments(), options, read.names)
    run = TableScan(options, read, partitions, wanted)
    return map_batches(_numbers(spark, len(partitions)), run, run.schema)


@functools.lru_cache(maxsize=64)
def _numbers(spark: SparkSession, count: int) -> DataFrame:
    """One number for each task. Spark takes it to be of any size, so that no table is held in memory for a join."""
    from pyspark.sql import DataFrame

    java = spark._jsparkSession  # noqa: SLF001 - such a relation is made in Java only
    numbers = spark.range(0, count, numPartitions=count)._jdf  # noqa: SLF001 - the same
    rows = numbers.queryExecution().toRdd()
    return DataFrame(java.internalCreateDataFrame(rows, numbers.schema(), False), spark)

"""What a table that a statement mentions is for Spark: first something to plan with, then just what is needed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lancespace_spark import lookups, plans
from lancespace_spark.partitions import width
from lancespace_spark.source import NAME
from lancespace_spark.types import spark_schema, wire_schema

if TYPE_CHECKING:
    import lance
    from pyspark.sql import DataFrame, SparkSession

    from lancespace.handles import TableHandle

MARKER = "occurrence"
"""The option by which a mention is known again in a plan."""


@dataclass(frozen=True)
class Bound:
    """A mention of a table of the namespace, at the version that the statement reads."""

    number: int
    mention: plans.Mention
    handle: TableHandle
    dataset: lance.LanceDataset
    view: str

    def blank(self, spark: SparkSession, folder: str) -> DataFrame:
        """A relation with the table's columns that nobody reads.

        It is one of Spark's own, over an empty folder: to plan a scan of ours, Spark would ask Python several times.
        """
        reader = spark.read.schema(spark_schema(self.dataset.schema))
        return reader.option(MARKER, str(self.number)).parquet(f"file://{folder}")

    def whole(self, spark: SparkSession) -> DataFrame:
        """A scan of all columns and rows."""
        return self._scan(spark, self.dataset.schema, None)

    def reduced(self, spark: SparkSession, need: plans.Need, names: set[str]) -> DataFrame:
        """What is needed of the table: of its rows, and of its columns where it makes no difference which it has.

        Columns that the text names are there when it is analysed, even if they are not needed afterwards. A few rows
        that an index finds are part of the plan, so that it needs no task for them.
        """
        schema = self._needed(need, names) if self.mention.is_selected else self.dataset.schema
        if not need.filter or not _is_understood(self.dataset, need.filter):
            return self._scan(spark, schema, None)
        found = lookups.look_up(self.dataset, need.filter, wire_schema(spark_schema(schema)))
        if found is None:
            return self._scan(spark, schema, need.filter)
        return spark.createDataFrame(found, spark_schema(schema))

    def _needed(self, need: plans.Need, names: set[str]) -> pa.Schema:
        stored = self.dataset.schema
        kept = [field for field in stored if field.name in need.columns or field.name.lower() in names]
        return pa.schema(kept or [_narrowest(stored)])

    def _scan(self, spark: SparkSession, schema: pa.Schema, condition: str | None) -> DataFrame:
        """A scan of our data source; the schema is told, so that Spark need not ask for it."""
        options = {
            "namespace": self.handle.backend,
            "table": self.handle.name,
            "version": str(self.dataset.version),
            "partitions": str(spark.sparkContext.defaultParallelism),
        }
        reader = spark.read.format(NAME).schema(spark_schema(schema)).options(**options, **self.handle.properties)
        return (reader if condition is None else reader.option("filter", condition)).load()


def _is_understood(dataset: lance.LanceDataset, condition: str) -> bool:
    """Whether Lance can evaluate a condition; on an unsigned column, for example, it refuses negative numbers."""
    try:
        dataset.scanner(columns=[], with_row_id=True, filter=condition).explain_plan()
    except (ValueError, OSError):
        return False
    return True


def _narrowest(schema: pa.Schema) -> pa.Field:
    """A column to count rows by: the one with the shortest values."""
    return min(schema, key=lambda field: width(field.type))

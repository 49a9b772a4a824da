"""What a table that a statement mentions is for Spark: first something to plan with, then just what is needed of it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import TableSchemaValidationError

from lancespace_spark import aggregates, lookups, padding
from lancespace_spark.needs import MARKER
from lancespace_spark.partitions import width
from lancespace_spark.scans import scan
from lancespace_spark.types import spark_schema, wire_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lance
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lancespace_jobs import TableSpec
    from lancespace_spark.aggregates import Aggregate
    from lancespace_spark.needs import Need, Output
    from lancespace_spark.statements import Mention


@dataclass(frozen=True)
class Bound:
    """A mention of a table of the namespace, at the version that the statement reads."""

    number: int
    mention: Mention
    handle: TableSpec
    dataset: lance.LanceDataset
    view: str

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """The columns whose types Spark has."""
        return readable(self.dataset.schema)

    def blank(self, spark: SparkSession) -> DataFrame:
        """A relation with the table's columns that nobody reads, known by its mark.

        It is one of Spark's own, without rows: to plan a scan of ours, Spark would ask Python several times.
        """
        columns = spark_schema(self.schema)
        if columns.fields:
            columns.fields[0].metadata = {**columns.fields[0].metadata, MARKER: self.number}
        return _blank(spark, columns.json())

    def reduced(self, spark: SparkSession, need: Need) -> DataFrame:
        """A relation with all columns, and the rows that are needed, which reads only the needed columns.

        A few rows that an index finds are part of the plan, so that it needs no task for them.
        """
        look_up = self._look_up(need.filter, self._at_hand(need)) if need.filter else None
        found = look_up.rows() if look_up else None
        whole = spark_schema(self.schema)
        if found is not None:
            return _local(spark, padding.filled(found, wire_schema(whole)), whole)
        read = self._needed(need) if padding.is_possible(whole) else self.schema
        rows = scan(spark, self.handle, self.dataset, read, need.filter if look_up else None)
        return padding.padded(rows, whole)

    def aggregated(self, spark: SparkSession, wanted: list[Aggregate], condition: str | None) -> DataFrame | None:
        """Aggregates of the rows for which a condition holds; None if an index finds those, so that they are few."""
        schema = aggregates.columns_of(wanted, self.schema)
        parts = aggregates.part_schema(wanted, wire_schema(spark_schema(schema)))
        if condition is None and aggregates.are_rows(wanted):
            count = pa.array([self.dataset.count_rows()], pa.int64())
            known = pa.Table.from_arrays([count] * len(wanted), schema=parts)
            return aggregates.whole(_local(spark, known, spark_schema(parts)), wanted)
        if condition is not None:
            look_up = self._look_up(condition, schema)
            if look_up is None or look_up.rows() is not None:
                return None
        return aggregates.whole(scan(spark, self.handle, self.dataset, schema, condition, wanted), wanted)

    def looked_up(
        self, spark: SparkSession, condition: str, output: Sequence[Output], alias: str | None
    ) -> DataFrame | None:
        """Columns of the rows for which a condition holds; None unless an index finds those, and they are few."""
        from pyspark.sql.types import StructField, StructType

        schema = pa.schema([self.schema.field(name) for name in dict.fromkeys(one.column for one in output)])
        look_up = self._look_up(condition, schema)
        found = None if look_up is None else look_up.rows()
        if found is None:
            return None
        stored = {field.name: field for field in spark_schema(schema)}
        named = [
            StructField(one.name, field.dataType, field.nullable, field.metadata)
            for one, field in ((one, stored[one.column]) for one in output)
        ]
        frame = _local(spark, found.select([one.column for one in output]), StructType(named))
        return frame if alias is None else frame.alias(alias)

    def _look_up(self, condition: str, schema: pa.Schema) -> lookups.LookUp | None:
        """How to find the rows for which a condition holds; None if Lance cannot evaluate it."""
        try:
            return lookups.plan(self.dataset, condition, wire_schema(spark_schema(schema)))
        except (ValueError, OSError):
            return None

    def _needed(self, need: Need) -> pa.Schema:
        stored = self.schema
        return pa.schema([field for field in stored if field.name in need.columns] or [_narrowest(stored)])

    def _at_hand(self, need: Need) -> pa.Schema:
        """What is read of a few rows: Spark computes with them while it plans, so what is never null must be there."""
        return pa.schema([field for field in self.schema if field.name in need.columns or not field.nullable])


def readable(stored: pa.Schema) -> pa.Schema:
    """The columns of a table whose types Spark has."""
    return pa.schema([field for field in stored if _is_readable(field)])


def _is_readable(field: pa.Field) -> bool:
    try:
        spark_schema(pa.schema([field]))
    except TableSchemaValidationError:
        return False
    return True


@functools.lru_cache(maxsize=64)
def _blank(spark: SparkSession, schema: str) -> DataFrame:
    """A relation without rows; it can be used again, since nothing is ever read from it."""
    from pyspark.sql import DataFrame

    java = spark._jsparkSession  # noqa: SLF001 - such a relation is made in Java only
    nothing = spark.sparkContext._jsc.emptyRDD().rdd()  # noqa: SLF001 - the same
    return DataFrame(java.internalCreateDataFrame(nothing, java.parseDataType(schema), False), spark)


def _local(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """What ``spark.createDataFrame`` does, for rows that are as Spark wants them: it takes a third less."""
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer

    java: Any = spark._jvm  # noqa: SLF001 - there is no public way to hand over Arrow's bytes
    utilities, context = java.PythonSQLUtils, spark.sparkContext
    batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    handed = context._serialize_to_jvm(  # noqa: SLF001 - the same
        batches,
        ArrowStreamSerializer(),
        utilities.readArrowStreamFromFile,
        lambda: java.ArrowIteratorServer(),  # noqa: PLW0108 - looked up only if Spark encrypts
    )
    return DataFrame(utilities.toDataFrame(handed, schema.json(), spark._jsparkSession), spark)  # noqa: SLF001 - the same


def _narrowest(schema: pa.Schema) -> pa.Field:
    """A column to count rows by: the one with the shortest values."""
    return min(schema, key=lambda field: width(field.type))

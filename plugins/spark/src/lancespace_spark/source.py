"""The data source ``lancespace``, as Spark calls it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakSet

from lance_namespace import TableColumnNotFoundError
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import FloatType, LongType, StructField, StructType

from lancespace.authoring import public
from lancespace_spark.columns import ROW_NUMBERS
from lancespace_spark.options import SourceOptions, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )

NAME = "lancespace"
HIDDEN = {name: StructField(name, LongType(), nullable=False) for name in ROW_NUMBERS}
"""Columns that every table has, for those who ask for them by the option ``columns``."""
FOUND = {"vector": StructField("_distance", FloatType()), "full_text_query": StructField("_score", FloatType())}
"""Columns that the rows of a search have besides."""


class LanceSource(DataSource):
    """Reads and writes the tables of a namespace; see docs/spark for its options."""

    @classmethod
    def name(cls) -> str:
        """What ``format(...)`` takes."""
        return NAME

    def schema(self) -> StructType:
        """The table's columns, or those that the option ``columns`` names."""
        import pyarrow as pa

        from lancespace_spark.types import spark_schema

        options = self._options()
        stored = options.handle.open(options.version, options.get("branch")).schema
        wanted = options.get("columns")
        if wanted is None:
            return spark_schema(stored)
        beside = {**HIDDEN, **{FOUND[name].name: FOUND[name] for name in FOUND if options.get(name) is not None}}
        _check_known(wanted, [*stored.names, *beside], options)
        chosen = spark_schema(pa.schema([stored.field(name) for name in wanted if name in stored.names]))
        return StructType([beside[name] if name in beside else chosen[name] for name in wanted])

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch read."""
        from lancespace_spark.reading import TableReader

        return TableReader(self._options(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A batch write."""
        from lancespace_spark.writing import TableWriter

        return TableWriter(self._options(), schema, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A stream of what is appended."""
        from lancespace_spark.streams import TableStreamReader

        return TableStreamReader(self._options(), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's
        """An exactly-once sink."""
        from lancespace_spark.sinks import TableStreamWriter

        return TableStreamWriter(self._options(), schema, overwrite=overwrite)

    def _options(self) -> SourceOptions:
        """The options as they are meant here, on the driver: executors are in other folders."""
        options = parse(self.options)
        return replace(options, handle=options.handle.absolute())


_knowing: WeakSet[SparkSession] = WeakSet()


@public
def register(spark: SparkSession) -> None:
    """Make ``format("lancespace")`` known to a session; once, as Spark warns of a second time."""
    if spark not in _knowing:
        spark.dataSource.register(LanceSource)
        _knowing.add(spark)


def _check_known(wanted: list[str], known: list[str], options: SourceOptions) -> None:
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise TableColumnNotFoundError(
            f"the table {options.handle.name!r} has no column {', '.join(map(repr, unknown))}; "
            f"it has {', '.join(name for name in known if name not in HIDDEN)}"
        )

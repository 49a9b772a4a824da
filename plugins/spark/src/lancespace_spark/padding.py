"""Relations with all columns of a table, of which only some are read.

What the text of a statement means may depend on columns that its answer does not need: on how many there are before the
one that ``ORDER BY 2`` or a ``UNION`` means, and on what a ``*`` or a ``NATURAL JOIN`` finds. So they are all there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_ABSENT = "lancespace.absent"
"""What the columns that are not read are in, for a moment."""


def is_possible(schema: StructType) -> bool:
    """Whether columns can be told apart by their names, as Spark reads these."""
    return len({name.lower() for name in (*schema.names, _ABSENT)}) > len(schema.names)


def padded(frame: DataFrame, schema: StructType) -> DataFrame:
    """A frame with all columns of a schema; who looks into one that it did not have before gets an error.

    To the optimizer they are what they were in the table, nothing that it could compute with while it plans: a constant
    null would make ``c IS NOT NULL`` false, and a constant zero ``1 / c`` an error, before it drops what nobody needs.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    read = frozenset(frame.columns)
    if len(read) == len(schema.names):
        return frame
    spark = frame.sparkSession
    java: Any = spark._jvm  # noqa: SLF001 - such an expression is made in Java only
    absent = StructType([field for field in schema.fields if field.name not in read])
    catalyst, to_seq = java.org.apache.spark.sql.catalyst.expressions, java.PythonUtils.toSeq
    kind = spark._jsparkSession.parseDataType(absent.json())  # noqa: SLF001 - the same
    opaque = catalyst.objects.AssertNotNull(catalyst.Literal.create(None, kind), to_seq([]))
    wide = frame._jdf.withColumn(_ABSENT, java.org.apache.spark.sql.classic.ExpressionUtils.column(opaque))  # noqa: SLF001 - the same
    places = [_quoted(name) if name in read else f"`{_ABSENT}`.{_quoted(name)}" for name in schema.names]
    return DataFrame(wide.select(places[0], to_seq(places[1:])), spark)


def filled(rows: pa.Table, wire: pa.Schema) -> pa.Table:
    """A few rows with all columns of a schema: nulls in those that they did not have before."""
    columns = [
        rows[field.name] if field.name in rows.column_names else pa.nulls(len(rows), field.type) for field in wire
    ]
    return pa.Table.from_arrays(columns, schema=wire)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

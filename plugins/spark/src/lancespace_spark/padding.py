"""Relations with all columns of a table, of which only some are read.

What the text of a statement means may depend on columns that its answer does not need: on how many there are before the
one that ``ORDER BY 2`` or a ``UNION`` means, and on what a ``*`` or a ``NATURAL JOIN`` finds. So they are all there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lancespace_spark.predicates import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_ABSENT = "lancespace.absent"
"""What the columns that are not read are in, for a moment."""
_TRUE = "exists(array(0), x -> x = 0)"
"""Spark has functions of functions computed by tasks only."""


def is_possible(schema: StructType) -> bool:
    """Whether columns can be told apart by their names, as Spark reads these."""
    return len({name.lower() for name in (*schema.names, _ABSENT)}) > len(schema.names)


def padded(frame: DataFrame, schema: StructType) -> DataFrame:
    """A frame with all columns of a schema: some value of their types in those that it did not have before."""
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    read = frozenset(frame.columns)
    if len(read) == len(schema.names):
        return frame
    spark = frame.sparkSession
    java: Any = spark._jvm  # noqa: SLF001 - such a column is made in Java only
    absent = StructType([field for field in schema.fields if field.name not in read])
    wide = frame._jdf.withColumn(_ABSENT, _opaque(java, spark._jsparkSession.parseDataType(absent.json())))  # noqa: SLF001 - the same
    places = [quoted(name) if name in read else f"`{_ABSENT}`.{quoted(name)}" for name in schema.names]
    return DataFrame(wide.select(places[0], java.PythonUtils.toSeq(places[1:])), spark)


def _opaque(java: Any, kind: Any) -> Any:
    """A column of a type that is never null, and of which the optimizer cannot know that it is always the same.

    It would compute with a constant while it plans, before it drops what nobody needs: ``1 / c`` is an error for zero,
    ``map(c, 1)`` for null, and ``c IS NOT NULL`` is false. Tasks compute with it only where the optimizer saw by what
    it knows of columns that their values make no difference, as in ``c = 1 AND c = 2``: any value will do there.
    """
    catalyst, bridge = java.org.apache.spark.sql.catalyst.expressions, java.org.apache.spark.sql.classic.ExpressionUtils
    value = bridge.column(catalyst.Literal.default(kind))
    hidden = java.functions.when(java.functions.expr(_TRUE), value)
    return bridge.column(catalyst.objects.AssertNotNull(bridge.expression(hidden), java.PythonUtils.toSeq([])))


def filled(rows: pa.Table, wire: pa.Schema) -> pa.Table:
    """A few rows with all columns of a schema: nulls in those that they did not have before."""
    columns = [
        rows[field.name] if field.name in rows.column_names else pa.nulls(len(rows), field.type) for field in wire
    ]
    return pa.Table.from_arrays(columns, schema=wire)

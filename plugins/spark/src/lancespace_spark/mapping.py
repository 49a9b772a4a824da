"""Functions of ours that tasks run on the rows of a frame, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lancespace_spark.predicates import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

MapFunction = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def map_batches(frame: DataFrame, function: MapFunction, schema: StructType | str) -> DataFrame:
    """What ``DataFrame.mapInArrow`` does, which asks for pandas though it has no use for it.

    It also finds columns whose names have dots.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    run = UserDefinedFunction(function, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    called: Any = run(*(frame[quoted(name)] for name in frame.columns))
    return DataFrame(frame._jdf.mapInArrow(called._jc, False, None), frame.sparkSession)  # noqa: SLF001 - see above

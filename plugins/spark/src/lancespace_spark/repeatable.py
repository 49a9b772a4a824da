"""Whether a DataFrame has the same rows in the same partitions when it is planned again, in another session perhaps.

Spark promises nothing of the kind, so this trusts only what it knows: files that are read, and expressions of Spark's
own that look at one row. Then partitions have the same rows if the plan is the same, and the files were cut the same
way. A shuffle, a join or a function of the user's may deal out other rows the next time; so may another kind of source.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lancespace.authoring import fingerprint
from lancespace_spark.catalyst import items, objects

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame

_NODES = frozenset({"Project", "Filter", "Union", "Generate", "LogicalRelation"})
"""Nodes of optimized plans that leave every row in its partition."""
_EXPRESSIONS = re.compile(r"org\.apache\.spark\.sql\.catalyst\.expressions\.(\w+)")
_FOREIGN = frozenset({"PythonUDF", "ScalaUDF", "UserDefinedGenerator", "ApplyFunctionExpression"})
"""Expressions that run code which the plan does not show."""
_INNER = frozenset({"ScalarSubquery", "LateralSubquery", "DynamicPruningSubquery", "Exists", "ListQuery"})
"""Expressions that read something else."""
_SCAN = "FileScanRDD"
_PROCESS = re.compile(r'"jvmId":"[^"]*",?')
"""What the ids of columns have of the Java that made them."""


def plan_of(frame: DataFrame) -> str | None:
    """A digest of what a DataFrame computes of which columns; None if its partitions may be others the next time."""
    execution: Any = frame._jdf.queryExecution()  # noqa: SLF001 - only Java knows the plan
    optimized = execution.optimizedPlan()
    shown = list(objects(json.loads(optimized.toJSON())))
    if not optimized.deterministic() or not all(_is_known(str(one["class"])) for one in shown):
        return None
    plans = [_PROCESS.sub("", plan.canonicalized().toJSON()) for plan in (execution.analyzed(), optimized)]
    names = [one.get("name") for one in shown]  # Plans in their canonical form have none.
    settings = {name: text for name, text in frame.sparkSession.conf.getAll.items() if name.startswith("spark.sql.")}
    return fingerprint(plans, names, settings, frame.schema.json(), frame.sparkSession.version)


def pieces_of(rdd: RDD[Any]) -> str | None:
    """A digest of the files that the partitions of an RDD read, with their times and sizes, and of how they were cut.

    None if it reads anything else. Java writes the partitions down in one call, since there may be very many.
    """
    java: Any = rdd.context._jvm  # noqa: SLF001 - only Java knows the partitions
    digests = []
    for source in _sources(rdd._jrdd.rdd()):  # noqa: SLF001 - the same
        if source.getClass().getSimpleName() != _SCAN:
            return None
        digests.append(hashlib.sha256(java.org.apache.spark.util.Utils.serialize(source.partitions())).hexdigest())
    return fingerprint(digests)


def _is_known(name: str) -> bool:
    expression = _EXPRESSIONS.fullmatch(name)
    if expression is not None:
        return expression[1] not in _FOREIGN | _INNER
    return name.rpartition(".")[2] in _NODES


def _sources(rdd: Any) -> Iterator[Any]:
    """The RDDs that an RDD of Java's is made of, and that are not made of others."""
    above = items(rdd.dependencies())
    if not above:
        yield rdd
    for dependency in above:
        yield from _sources(dependency.rdd())

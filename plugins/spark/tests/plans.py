"""What the plans of Spark show of our scans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lancespace_spark.catalyst import items

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME = re.compile(r"lancespace\[(?P<table>[^;\]]*)(?:; where (?P<condition>.*?))?(?:; (?P<aggregates>\w+\(.*))?\]$")


@dataclass(frozen=True)
class ShownScan:
    """A scan, as Spark shows it to a person."""

    table: str
    columns: set[str]
    condition: str | None
    aggregates: str | None


def shown(frame: DataFrame) -> list[ShownScan]:
    """The scans of a plan and of its subqueries, in no order."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    nodes = [node for root in (plan, *items(plan.subqueriesAll())) for node in _below(root)]
    return [_scan(node) for node in nodes if node.nodeName() == "MapInArrow"]


def _below(node: Any) -> Iterator[Any]:
    yield node
    for child in items(node.children()):
        yield from _below(child)


def _scan(node: Any) -> ShownScan:
    name = str(node.functionExpr().name())
    found = _NAME.match(name)
    assert found is not None, name
    columns = {str(one.name()) for one in items(node.output())}
    return ShownScan(found["table"], columns, found["condition"], found["aggregates"])

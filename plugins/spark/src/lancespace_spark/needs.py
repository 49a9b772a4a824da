"""What the scans of an optimized plan need of the tables that it was planned for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lancespace_spark.catalyst import Node, attributes, fetch, items, leaves
from lancespace_spark.predicates import COLUMN, Condition, to_lance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MARKER = "lancespace.mention"
"""Metadata of the first column of a relation that stands for a table: the number of its mention."""
_RELATION = "LogicalRDD"
"""What such a relation is to Catalyst."""
_LIST_LENGTH, _ANY_LENGTH = "spark.sql.optimizer.inSetConversionThreshold", 2**31 - 1


class Output(NamedTuple):
    """A column that a scan gives."""

    column: str
    """As the table calls it."""
    name: str
    """As the statement does: Spark does not mind capital letters."""


@dataclass(frozen=True)
class Scan:
    """A scan of a table, with what Spark put right above it: a filter, and then a projection."""

    number: int
    """Of the mention that it is for."""
    columns: frozenset[str]
    condition: Condition | None
    output: tuple[Output, ...]
    """The columns that it gives, in their order."""
    alias: str | None
    """What those may be qualified by."""
    rest: tuple[Node, ...]
    """What is above those; a projection that computes something counts as such."""
    is_top: bool
    """Whether it is in the statement itself, and not in a subquery."""


@dataclass
class Need:
    """What the scans of one mention need; a mention may be scanned several times."""

    columns: set[str] = field(default_factory=set)
    filters: list[str | None] = field(default_factory=list)

    @property
    def filter(self) -> str | None:
        """A condition that holds for every row that any of the scans needs; None if one needs all."""
        if not self.filters or None in self.filters:
            return None
        return " OR ".join(f"({text})" for text in sorted({text for text in self.filters if text}))


@contextmanager
def long_lists(spark: SparkSession) -> Iterator[None]:
    """Keep the values of an IN in plans, however many: Spark makes a set of more than ten, which it does not show."""
    before = spark.conf.get(_LIST_LENGTH)
    spark.conf.set(_LIST_LENGTH, str(_ANY_LENGTH))
    try:
        yield
    finally:
        spark.conf.set(_LIST_LENGTH, str(before))


def scans_of(frame: DataFrame) -> list[Scan]:
    """The scans of marked relations in a query, in its subqueries as well."""
    plan = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - Python has no other way to the plan
    below = [scan for root in items(plan.subqueriesAll()) for scan in _scans(root, is_top=False)]
    return [*_scans(plan, is_top=True), *below]


def by_mention(scans: list[Scan]) -> dict[int, Need]:
    """What is needed of each mention, by its number."""
    found: dict[int, Need] = {}
    for scan in scans:
        need = found.setdefault(scan.number, Need())
        need.columns |= scan.columns
        need.filters.append(scan.condition.text if scan.condition else None)
    return found


def _scans(root: Any, *, is_top: bool) -> Iterator[Scan]:
    found = list(leaves(fetch(root)))
    there = root.collectLeaves()
    for index, (leaf, above) in enumerate(found):
        if leaf.kind == _RELATION and leaf.fields["output"]:
            marks = json.loads(there.apply(index).output().apply(0).metadata().json())
            if MARKER in marks:
                yield _scan(int(marks[MARKER]), leaf, above, is_top=is_top)


def _scan(number: int, leaf: Node, above: tuple[Node, ...], *, is_top: bool) -> Scan:
    taken = leaf.inner("output")
    tested: list[Node] = []
    condition = None
    if above and above[0].kind == "Filter":
        tested, above = above[0].inner("condition"), above[1:]
        condition = to_lance(tested[0])
    if above and above[0].kind == "Project":
        taken = above[0].inner("projectList")
        above = above[1:] if all(one.kind == COLUMN for one in taken) else above
    columns = frozenset[str]().union(*map(attributes, (*tested, *taken)))
    output = tuple(Output(str(one.fields["name"]), str(one.fields["shown"])) for one in taken if one.kind == COLUMN)
    return Scan(number, columns, condition, output, _alias([*tested, *taken]), above, is_top)


def _alias(expressions: list[Node]) -> str | None:
    """What the statement calls the table in them; a relation's own columns, as a ``*`` gives them, do not tell."""
    columns = (one for expression in expressions for one in expression.below() if one.kind == COLUMN)
    found = {str(one.fields["qualifier"])[1:-1] for one in columns} - {""}
    return found.pop() if len(found) == 1 else None

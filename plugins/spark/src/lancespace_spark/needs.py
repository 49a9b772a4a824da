"""What the scans of an optimized plan need of the tables that it was planned for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lancespace_spark.catalyst import Node, attributes, fetch, items, leaves
from lancespace_spark.predicates import Condition, to_lance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MARKER = "lancespace.mention"
"""Metadata of the first column of a relation that stands for a table: the number of its mention."""
_RELATION = "LogicalRDD"
"""What such a relation is to Catalyst."""


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
    columns: set[str] = set()
    condition = None
    if above and above[0].kind == "Filter":
        (expression,), above = above[0].inner("condition"), above[1:]
        columns, condition = attributes(expression), to_lance(expression)
    if above and above[0].kind == "Project":
        taken = above[0].inner("projectList")
        above = above[1:] if all(one.kind == "AttributeReference" for one in taken) else above
    columns = columns.union(*map(attributes, taken))
    output = tuple(
        Output(str(one.fields["name"]), str(one.fields["shown"])) for one in taken if one.kind == "AttributeReference"
    )
    return Scan(number, frozenset(columns), condition, output, above, is_top)

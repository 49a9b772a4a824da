"""What Spark's plans tell: which tables a statement names, and what its scans need of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lancespace_spark.predicates import to_lance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SELECTING = frozenset({"Project", "Aggregate"})
"""Nodes of parsed plans that name the columns which they take from below."""
PASSING = frozenset({"Filter", "Join", "LateralJoin", "Sample", "SubqueryAlias", "UnresolvedHint"})
"""Nodes that pass columns on, whichever there are; all others may count them, as ORDER BY 2 and UNION do."""


@dataclass(frozen=True)
class Mention:
    """A name of a relation in the text of a statement."""

    names: tuple[str, ...]
    start: int
    stop: int
    """The position of its last character."""
    takes_alias: bool
    """Whether it has none, in a place where it may have one."""
    is_selected: bool
    """Whether columns are taken from it by name, so that it makes no difference which others it has."""


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


@dataclass(frozen=True)
class Statement:
    """What the text of a statement names."""

    text: str
    mentions: tuple[Mention, ...]
    words: frozenset[str]
    """All parts of the names of columns, which must be there when the text is analysed, needed or not."""


def parse(spark: SparkSession, text: str) -> Statement:
    """Have Spark parse a statement.

    Raises:
        pyspark.errors.ParseException: If it is not SQL.
    """
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001 - only it knows Spark's SQL
    visits = list(_walk(plan, None, is_selected=False))
    expressions = [one for visit in visits for each in _list(visit.node.expressions()) for one in _below(each)]
    kinds = {str(one.getClass().getSimpleName()) for one in expressions}
    has_star = any(kind.startswith(("UnresolvedStar", "UnresolvedRegex")) for kind in kinds)
    words = {word for one in expressions for word in _words(one)}
    return Statement(text, tuple(_mentions(visits, has_star=has_star)), frozenset(words))


def _mentions(visits: list[_Visit], *, has_star: bool) -> list[Mention]:
    """The relations that a statement names, less those that it defines itself in a WITH."""
    defined = {name for visit in visits if _kind(visit.node) == "UnresolvedWith" for name in _cte_names(visit.node)}
    found = {
        Mention(
            _names(visit.node),
            int(visit.node.origin().startIndex().get()),
            int(visit.node.origin().stopIndex().get()),
            takes_alias=visit.is_selected and visit.parent != "SubqueryAlias",
            is_selected=visit.is_selected and not has_star,
        )
        for visit in visits
        if _kind(visit.node) == "UnresolvedRelation"
    }
    return sorted((one for one in found if one.names not in {(name,) for name in defined}), key=lambda one: one.start)


def needs(frame: DataFrame, marker: str) -> dict[int, Need]:
    """What is needed of each relation over files, by the number that its option ``marker`` carries."""
    plan = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - Python has no other way to the plan
    found: dict[int, Need] = {}
    for root in (plan, *_list(plan.subqueriesAll())):
        for scan, above in _scans(root, ()):
            number = scan.relation().options().get(marker)
            if number.isDefined():
                need = found.setdefault(int(number.get()), Need())
                columns, condition = _of_scan(scan, above)
                need.columns |= columns
                need.filters.append(condition)
    return found


def _of_scan(scan: Any, above: tuple[Any, ...]) -> tuple[set[str], str | None]:
    """The columns and the condition of one scan: Spark puts a filter, and then a projection, right above it."""
    rest = list(above)
    columns: set[str] = set()
    condition = None
    if rest and rest[0].nodeName() == "Filter":
        filtering = rest.pop(0)
        condition = to_lance(filtering.condition())
        columns |= _references(filtering)
    if rest and rest[0].nodeName() == "Project":
        return columns | _references(rest[0]), condition
    return {str(column.name()) for column in _list(scan.output())}, condition


def _scans(node: Any, above: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    if node.getClass().getSimpleName() == "LogicalRelation" and hasattr(node.relation(), "options"):
        yield node, above
    for child in _list(node.children()):
        yield from _scans(child, (node, *above))


def _references(node: Any) -> set[str]:
    return {str(column.name()) for column in _list(node.references().toSeq())}


@dataclass(frozen=True)
class _Visit:
    """A node of a parsed plan, and what is above it."""

    node: Any
    parent: str | None
    is_selected: bool


def _walk(node: Any, parent: str | None, *, is_selected: bool) -> Iterator[_Visit]:
    """A plan and all plans inside it: children, subqueries, and what a WITH defines."""
    kind = _kind(node)
    yield _Visit(node, parent, is_selected)
    is_selected_below = kind in SELECTING or (is_selected and kind in PASSING)
    for child in _list(node.children()):
        yield from _walk(child, kind, is_selected=is_selected_below)
    for inner in (*_list(node.innerChildren()), *_list(node.subqueries())):
        if hasattr(inner, "nodeName"):
            yield from _walk(inner, None, is_selected=False)


def _kind(node: Any) -> str:
    return str(node.nodeName())


def _names(relation: Any) -> tuple[str, ...]:
    return tuple(str(part) for part in _list(relation.multipartIdentifier()))


def _below(expression: Any) -> Iterator[Any]:
    yield expression
    for child in _list(expression.children()):
        yield from _below(child)


def _words(expression: Any) -> list[str]:
    if expression.getClass().getSimpleName() != "UnresolvedAttribute":
        return []
    return [str(part) for part in _list(expression.nameParts())]


def _cte_names(node: Any) -> list[str]:
    return [str(pair.productElement(0)) for pair in _list(node.cteRelations())]


def _list(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]

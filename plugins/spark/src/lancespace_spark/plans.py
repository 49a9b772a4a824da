"""What Spark's plans tell: which tables a statement names, and what its scans need of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lancespace_spark.predicates import to_lance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Mention:
    """A name of a relation in the text of a statement."""

    names: tuple[str, ...]
    start: int
    stop: int
    """The position of its last character."""


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
    nodes = list(_walk(plan))
    words = {word for node in nodes for expression in _list(node.expressions()) for word in _words(expression)}
    return Statement(text, tuple(_mentions(nodes)), frozenset(words))


def _mentions(nodes: list[Any]) -> list[Mention]:
    """The relations that a statement names, less those that it defines itself in a WITH."""
    defined = {name for node in nodes if node.nodeName() == "UnresolvedWith" for name in _cte_names(node)}
    found = {
        Mention(_names(node), int(node.origin().startIndex().get()), int(node.origin().stopIndex().get()))
        for node in nodes
        if node.nodeName() == "UnresolvedRelation"
    }
    return sorted(
        (mention for mention in found if mention.names not in {(name,) for name in defined}),
        key=lambda mention: mention.start,
    )


def needs(frame: DataFrame, marker: str) -> dict[int, Need]:
    """What each relation needs, by the number that its option ``marker`` carries."""
    plan = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - Python has no other way to the plan
    found: dict[int, Need] = {}
    for root in (plan, *_list(plan.subqueriesAll())):
        for scan, above in _scans(root, ()):
            number = scan.relation().options().get(marker)
            if number is not None:
                need = found.setdefault(int(number), Need())
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
    if node.getClass().getSimpleName() == "DataSourceV2ScanRelation":
        yield node, above
    for child in _list(node.children()):
        yield from _scans(child, (node, *above))


def _references(node: Any) -> set[str]:
    return {str(column.name()) for column in _list(node.references().toSeq())}


def _walk(node: Any) -> Iterator[Any]:
    """A plan and all plans inside it: children, subqueries, and what a WITH defines."""
    yield node
    for below in (*_list(node.children()), *_list(node.innerChildren()), *_list(node.subqueries())):
        if hasattr(below, "nodeName"):
            yield from _walk(below)


def _names(relation: Any) -> tuple[str, ...]:
    return tuple(str(part) for part in _list(relation.multipartIdentifier()))


def _words(expression: Any) -> Iterator[str]:
    if expression.getClass().getSimpleName() == "UnresolvedAttribute":
        yield from (str(part) for part in _list(expression.nameParts()))
    for child in _list(expression.children()):
        yield from _words(child)


def _cte_names(node: Any) -> list[str]:
    return [str(pair.productElement(0)) for pair in _list(node.cteRelations())]


def _list(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]

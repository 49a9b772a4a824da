"""What a statement names, by Spark's own parser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace_spark.catalyst import items, objects

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


COMMANDS = tuple(f"org.apache.spark.sql.catalyst.plans.logical.{name}" for name in ("Command", "ParsedStatement"))
"""Classes of parsed plans that change something, or tell about something."""
SELECTING = frozenset({"Project", "Aggregate"})
"""Nodes of parsed plans that name the columns which they take from below."""
PASSING = frozenset({"Filter", "Join", "LateralJoin", "Sample", "SubqueryAlias", "UnresolvedHint"})
"""Nodes that pass columns on, whichever there are; all others may count them, as ORDER BY 2 and UNION do."""
QUERYING = SELECTING | PASSING | {"UnresolvedRelation", "UnresolvedWith", "Sort", "GlobalLimit", "LocalLimit"}
"""The most frequent nodes of queries, which are known to be no commands."""


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
        InvalidInputError: If it is no query. Spark runs commands while it plans, and it plans more than once here.
        pyspark.errors.ParseException: If it is not SQL.
    """
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001 - only it knows Spark's SQL
    expressions = list(objects(json.loads(plan.toJSON())))
    kinds = {str(one["class"]).rpartition(".")[2] for one in expressions}
    has_star = any(kind.startswith(("UnresolvedStar", "UnresolvedRegex")) for kind in kinds)
    words = {word for one in expressions for word in _words(str(one.get("nameParts", "")))}
    is_nested = "UnresolvedWith" in kinds or not plan.subqueriesAll().isEmpty()
    visits = list(_walk(plan, None, is_selected=False, is_nested=is_nested))
    _refuse_commands(spark, visits)
    return Statement(text, tuple(_mentions(visits, has_star=has_star)), frozenset(words))


def _refuse_commands(spark: SparkSession, visits: list[_Visit]) -> None:
    unknown = [visit for visit in visits if visit.kind not in QUERYING]
    find: Any = spark._jvm.java.lang.Class.forName if unknown else None  # type: ignore[union-attr] # noqa: SLF001
    for visit in unknown:
        if any(find(name).isInstance(visit.node) for name in COMMANDS):
            raise InvalidInputError(
                f"lancespace_spark.sql answers queries, and this is a command ({visit.kind}): have a query, and write "
                "what it answers with frame.write; lancespace_spark.upsert and the namespace change tables"
            )


def _mentions(visits: list[_Visit], *, has_star: bool) -> list[Mention]:
    """The relations that a statement names, less those that it defines itself in a WITH."""
    defined = {name for visit in visits if visit.kind == "UnresolvedWith" for name in _cte_names(visit.node)}
    found = {
        Mention(
            _names(visit.node),
            int(visit.node.origin().startIndex().get()),
            int(visit.node.origin().stopIndex().get()),
            takes_alias=visit.is_selected and visit.parent != "SubqueryAlias",
            is_selected=visit.is_selected and not has_star,
        )
        for visit in visits
        if visit.kind == "UnresolvedRelation"
    }
    return sorted((one for one in found if one.names not in {(name,) for name in defined}), key=lambda one: one.start)


@dataclass(frozen=True)
class _Visit:
    """A node of a parsed plan, and what is above it."""

    node: Any
    kind: str
    parent: str | None
    is_selected: bool


def _walk(node: Any, parent: str | None, *, is_selected: bool, is_nested: bool) -> Iterator[_Visit]:
    """A plan and all plans inside it: children and, if there are any, subqueries and what a WITH defines."""
    kind = str(node.nodeName())
    yield _Visit(node, kind, parent, is_selected)
    is_selected_below = kind in SELECTING or (is_selected and kind in PASSING)
    for child in items(node.children()):
        yield from _walk(child, kind, is_selected=is_selected_below, is_nested=is_nested)
    for inner in (*items(node.innerChildren()), *items(node.subqueries())) if is_nested else ():
        if hasattr(inner, "nodeName"):
            yield from _walk(inner, None, is_selected=False, is_nested=True)


def _names(relation: Any) -> tuple[str, ...]:
    return tuple(str(part) for part in items(relation.multipartIdentifier()))


def _words(parts: str) -> set[str]:
    """The parts of a name, which Catalyst writes as ``[a, b]``; a name with a comma in it is there whole as well."""
    whole = parts[1:-1]
    return {whole, *whole.split(", ")} if whole else set()


def _cte_names(node: Any) -> list[str]:
    return [str(pair.productElement(0)) for pair in items(node.cteRelations())]

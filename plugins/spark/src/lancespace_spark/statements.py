"""What a statement names, by Spark's own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace_spark.catalyst import items, objects

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


COMMANDS = tuple(f"org.apache.spark.sql.catalyst.plans.logical.{name}" for name in ("Command", "ParsedStatement"))
"""Classes of parsed plans that change something, or tell about something."""
QUERYING = frozenset(
    {
        *("Project", "Aggregate", "Filter", "Join", "LateralJoin", "Sample", "SubqueryAlias", "UnresolvedHint"),
        *("UnresolvedRelation", "UnresolvedWith", "Sort", "GlobalLimit", "LocalLimit"),
    }
)
"""The most frequent nodes of queries, which are known to be no commands."""
WITH = "UnresolvedWith"
COMPUTED = "PlanWithUnresolvedIdentifier"
"""A table whose name is computed: ``IDENTIFIER('a' || 'b')``."""
SHORT_LIST = 10
"""How many values an IN has, at most, that Spark always shows in its plans."""
_TABLE = re.compile(r"\bTABLE\s+$", re.IGNORECASE)
"""What is before a name that is a whole query, ``TABLE t``, and takes no alias."""

Constant = Callable[[str], object]
"""What a constant expression of a statement is, from its text."""


@dataclass(frozen=True)
class Mention:
    """A name of a relation in the text of a statement."""

    names: tuple[str, ...]
    start: int
    stop: int
    """The position of its last character."""
    takes_alias: bool
    """Whether it has none, in a place where it may have one."""


@dataclass(frozen=True)
class Statement:
    """What the text of a statement names."""

    text: str
    """After Spark has put in its variables: ``${…}``."""
    mentions: tuple[Mention, ...]
    columns: frozenset[tuple[str, ...]]
    """The names of columns in parts, without capital letters."""
    has_long_list: bool
    """Whether there is an IN with more values than Spark shows in its plans."""

    @property
    def words(self) -> frozenset[str]:
        """All parts of those names."""
        return frozenset(word for parts in self.columns for word in (*parts, ", ".join(parts)))


def parse(spark: SparkSession, text: str, constant: Constant | None = None) -> Statement:
    """Have Spark parse a statement; names that are computed are seen with the help of ``constant``.

    Raises:
        InvalidInputError: If it is no query. Spark runs commands while it plans, and it plans more than once here.
        pyspark.errors.ParseException: If it is not SQL.
    """
    if "${" in text:
        text = str(spark._jvm.org.apache.spark.sql.internal.VariableSubstitution().substitute(text))  # type: ignore[union-attr] # noqa: SLF001
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - only it knows Spark's SQL
    plan = parser.parsePlan(text)
    expressions = list(objects(json.loads(plan.toJSON())))
    kinds = {str(one["class"]).rpartition(".")[2] for one in expressions}
    is_nested = WITH in kinds or not plan.subqueriesAll().isEmpty()
    visits = list(_walk(plan, _Visit(None, "", None, frozenset()), is_nested=is_nested))
    _refuse_commands(spark, visits)
    if COMPUTED in kinds and constant is not None:
        named = _named(parser, text, visits, constant)
        if named != text:
            return parse(spark, named, constant)
    columns = frozenset(_parts(one) for one in expressions if one.get("nameParts"))
    lists = (one["num-children"] for one in expressions if str(one["class"]).endswith(".In"))
    has_long_list = any(count > SHORT_LIST + 1 for count in lists)
    return Statement(text, tuple(_mentions(text, visits)), columns, has_long_list)


def _refuse_commands(spark: SparkSession, visits: list[_Visit]) -> None:
    unknown = [visit for visit in visits if visit.kind not in QUERYING]
    find: Any = spark._jvm.java.lang.Class.forName if unknown else None  # type: ignore[union-attr] # noqa: SLF001
    for visit in unknown:
        if any(find(name).isInstance(visit.node) for name in COMMANDS):
            raise InvalidInputError(
                f"lancespace_spark answers queries, and this is a command ({visit.kind}): have a query, and write "
                "what it answers with frame.write; lancespace_spark.upsert and the namespace change tables"
            )


def _named(parser: Any, text: str, visits: list[_Visit], constant: Constant) -> str:
    """The text with names in place of the expressions that compute them; those with a ``?`` stay, as it is counted."""
    computed = {_span(one.node): _span(one.node.identifierExpr()) for one in visits if one.kind == COMPUTED}
    for (start, stop), (first, last) in sorted(computed.items(), reverse=True):
        expression = text[first : last + 1]
        if "?" in expression:
            continue
        names = items(parser.parseMultipartIdentifier(str(constant(expression))))
        quoted = ".".join("`" + str(name).replace("`", "``") + "`" for name in names)
        text = text[:start] + quoted + text[stop + 1 :]
    return text


def _mentions(text: str, visits: list[_Visit]) -> list[Mention]:
    """The relations that a statement names, less those that it defines itself in a WITH."""
    found = set()
    for visit in visits:
        names = _names(visit.node) if visit.kind == "UnresolvedRelation" else ()
        if names and (len(names) > 1 or names[0].lower() not in visit.defined):
            start, stop = _span(visit.node)
            takes_alias = visit.parent != "SubqueryAlias" and not _TABLE.search(text, 0, start)
            found.add(Mention(names, start, stop, takes_alias))
    return sorted(found, key=lambda one: one.start)


@dataclass(frozen=True)
class _Visit:
    """A node of a parsed plan, and what is above it."""

    node: Any
    kind: str
    parent: str | None
    defined: frozenset[str]
    """The names that a WITH defines around it, without capital letters."""


def _walk(node: Any, above: _Visit, *, is_nested: bool, is_inner: bool = False) -> Iterator[_Visit]:
    """A plan and all plans inside it: children and, if there are any, subqueries and what a WITH defines."""
    kind = str(node.nodeName())
    here = _Visit(node, kind, None if is_inner else above.kind, above.defined)
    yield here
    below = here
    for name, definition in _definitions(node) if kind == WITH else ():
        after = replace(below, defined=below.defined | {name})
        yield from _walk(definition, after if node.allowRecursion() else below, is_nested=True, is_inner=True)
        below = after
    for child in items(node.children()):
        yield from _walk(child, below, is_nested=is_nested)
    for inner in (*items(node.innerChildren()), *items(node.subqueries())) if is_nested and kind != WITH else ():
        if hasattr(inner, "nodeName"):
            yield from _walk(inner, below, is_nested=True, is_inner=True)


def _definitions(node: Any) -> list[tuple[str, Any]]:
    """What a WITH defines, in its order: each may use those before it."""
    pairs = items(node.cteRelations())
    return [(str(pair.productElement(0)).lower(), pair.productElement(1)) for pair in pairs]


def _names(relation: Any) -> tuple[str, ...]:
    return tuple(str(part) for part in items(relation.multipartIdentifier()))


def _span(node: Any) -> tuple[int, int]:
    """Where a node begins in the text, and its last character."""
    origin = node.origin()
    return int(origin.startIndex().get()), int(origin.stopIndex().get())


def _parts(expression: dict[str, Any]) -> tuple[str, ...]:
    """The parts of a column's name, which Catalyst writes as ``[a, b]``."""
    return tuple(str(expression["nameParts"])[1:-1].lower().split(", "))

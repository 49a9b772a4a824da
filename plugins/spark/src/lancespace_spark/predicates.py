"""Filters of Spark's plans as filters that Lance evaluates while it reads.

Spark evaluates its filter again, so a translation may only leave rows out that Spark would drop as well. What is not
known to mean the same on both sides is not translated: comparisons of floating-point numbers, for example, since
Spark takes 0.0 and -0.0 for equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lancespace_spark.catalyst import Node

COMPARISONS = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
STRING_TESTS = {"StartsWith": "starts_with", "EndsWith": "ends_with", "Contains": "contains"}
INTEGERS = frozenset({"byte", "short", "integer", "long"})
REFUSING_NULL = frozenset({*COMPARISONS, *STRING_TESTS, "In"})
"""Conditions that never hold for a null, so that Spark's own test for one beside them says nothing new."""
COMPARABLE = INTEGERS | {"string", "boolean", "date"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
"""Years that Lance reads: Spark also has those before 1 and after 9999."""


class _UntranslatableError(Exception):
    """An expression that has no certain equal in Lance."""


@dataclass(frozen=True)
class Condition:
    """A condition in Lance's SQL."""

    text: str | None
    """None if nothing of it has a certain equal there."""
    is_whole: bool
    """Whether it says all that Spark's does, so that Spark need not look at the rows again."""


def to_lance(condition: Node) -> Condition:
    """A Catalyst condition, without those of its conjuncts that have no certain equal in Lance."""
    conjuncts = _conjuncts(condition)
    present = {name for one in conjuncts if one.kind in REFUSING_NULL for name in _tested(one)}
    needed = [one for one in conjuncts if one.kind != "IsNotNull" or not _tested(one) <= present]
    found = [_attempt(one) for one in needed]
    return Condition(" AND ".join(text for text in found if text) or None, is_whole=None not in found)


def is_of(expression: Node, types: frozenset[str]) -> bool:
    """Whether a column or a literal is of one of these types, by Spark's names."""
    kind = expression.fields.get("dataType")
    return isinstance(kind, str) and kind in types


def quoted(name: str) -> str:
    """A column's name, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _conjuncts(expression: Node) -> list[Node]:
    if expression.kind != "And":
        return [expression]
    return [conjunct for child in expression.children for conjunct in _conjuncts(child)]


def _tested(expression: Node) -> set[str]:
    """The columns that a condition is directly about, if it can be translated."""
    if _attempt(expression) is None:
        return set()
    return {str(child.fields["name"]) for child in expression.children if child.kind == "AttributeReference"}


def _attempt(expression: Node) -> str | None:
    try:
        return _translated(expression)
    except _UntranslatableError:
        return None


def _translated(expression: Node) -> str:
    kind, children = expression.kind, expression.children
    if kind in COMPARISONS:
        return f"({_comparable(children[0])} {COMPARISONS[kind]} {_comparable(children[1])})"
    if kind in STRING_TESTS:
        return f"{STRING_TESTS[kind]}({_comparable(children[0])}, {_literal(children[1])})"
    if kind not in OTHERS:
        raise _UntranslatableError
    return OTHERS[kind](children)


OTHERS: dict[str, Callable[[Sequence[Node]], str]] = {
    "And": lambda children: f"({_translated(children[0])} AND {_translated(children[1])})",
    "Or": lambda children: f"({_translated(children[0])} OR {_translated(children[1])})",
    "Not": lambda children: f"(NOT {_translated(children[0])})",
    "IsNull": lambda children: f"({_column(children[0])} IS NULL)",
    "IsNotNull": lambda children: f"({_column(children[0])} IS NOT NULL)",
    "In": lambda children: f"({_comparable(children[0])} IN ({', '.join(_literal(child) for child in children[1:])}))",
}
"""Expressions that are neither comparisons nor tests of strings, by Catalyst's names."""


def _comparable(expression: Node) -> str:
    if not is_of(expression, COMPARABLE):
        raise _UntranslatableError
    return _literal(expression) if expression.kind == "Literal" else _column(expression)


def _column(expression: Node) -> str:
    if expression.kind != "AttributeReference":
        raise _UntranslatableError
    return quoted(str(expression.fields["name"]))


def _literal(expression: Node) -> str:
    if expression.kind != "Literal" or expression.fields["value"] is None:
        raise _UntranslatableError
    kind, value = expression.fields["dataType"], str(expression.fields["value"])
    if kind in INTEGERS or kind == "boolean":
        return value
    if kind == "string":
        text = value.replace("'", "''")
        return f"'{text}'"
    if kind == "date" and _DATE.fullmatch(value):
        return f"date '{value}'"
    raise _UntranslatableError

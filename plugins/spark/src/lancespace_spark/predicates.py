"""Filters of Spark's plans as filters that Lance evaluates while it reads.

Spark evaluates its filter again, so a translation may only leave rows out that Spark would drop as well. What is not
known to mean the same on both sides is not translated: comparisons of floating-point numbers, for example, since
Spark takes 0.0 and -0.0 for equal.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

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
EPOCH = date(1970, 1, 1)


class _UntranslatableError(Exception):
    """An expression that has no certain equal in Lance."""


def to_lance(condition: Any) -> str | None:
    """A Catalyst condition as Lance's SQL, without those of its conjuncts that have no certain equal there."""
    conjuncts = _conjuncts(condition)
    present = {name for one in conjuncts if _kind(one) in REFUSING_NULL for name in _tested(one)}
    needed = (one for one in conjuncts if _kind(one) != "IsNotNull" or not _tested(one) <= present)
    found = [text for text in map(_attempt, needed) if text is not None]
    return " AND ".join(found) or None


def quoted(name: str) -> str:
    """A column's name, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _conjuncts(expression: Any) -> list[Any]:
    if _kind(expression) != "And":
        return [expression]
    return [conjunct for child in _children(expression) for conjunct in _conjuncts(child)]


def _tested(expression: Any) -> set[str]:
    """The columns that a condition is directly about, if it can be translated."""
    if _attempt(expression) is None:
        return set()
    return {str(child.name()) for child in _children(expression) if _kind(child) == "AttributeReference"}


def _attempt(expression: Any) -> str | None:
    try:
        return _translated(expression)
    except _UntranslatableError:
        return None


def _translated(expression: Any) -> str:
    kind, children = _kind(expression), _children(expression)
    if kind in COMPARISONS:
        return f"({_comparable(children[0])} {COMPARISONS[kind]} {_comparable(children[1])})"
    if kind in STRING_TESTS:
        return f"{STRING_TESTS[kind]}({_comparable(children[0])}, {_literal(children[1])})"
    if kind not in OTHERS:
        raise _UntranslatableError
    return OTHERS[kind](children)


OTHERS: dict[str, Callable[[list[Any]], str]] = {
    "And": lambda children: f"({_translated(children[0])} AND {_translated(children[1])})",
    "Or": lambda children: f"({_translated(children[0])} OR {_translated(children[1])})",
    "Not": lambda children: f"(NOT {_translated(children[0])})",
    "IsNull": lambda children: f"({_column(children[0])} IS NULL)",
    "IsNotNull": lambda children: f"({_column(children[0])} IS NOT NULL)",
    "In": lambda children: f"({_comparable(children[0])} IN ({', '.join(_literal(child) for child in children[1:])}))",
}
"""Expressions that are neither comparisons nor tests of strings, by Catalyst's names."""


def _comparable(expression: Any) -> str:
    if _type(expression) not in COMPARABLE:
        raise _UntranslatableError
    return _literal(expression) if _kind(expression) == "Literal" else _column(expression)


def _column(expression: Any) -> str:
    if _kind(expression) != "AttributeReference":
        raise _UntranslatableError
    return quoted(str(expression.name()))


def _literal(expression: Any) -> str:
    if _kind(expression) != "Literal" or expression.value() is None:
        raise _UntranslatableError
    kind, value = _type(expression), expression.value()
    if kind in INTEGERS:
        return str(int(value))
    if kind == "string":
        text = str(value.toString()).replace("'", "''")
        return f"'{text}'"
    if kind == "boolean":
        return str(bool(value)).lower()
    if kind == "date":
        return f"date '{(EPOCH + timedelta(days=int(value))).isoformat()}'"
    raise _UntranslatableError


def _kind(expression: Any) -> str:
    return str(expression.getClass().getSimpleName())


def _type(expression: Any) -> str:
    return str(expression.dataType().typeName())


def _children(expression: Any) -> list[Any]:
    children = expression.children()
    return [children.apply(index) for index in range(children.size())]

"""Filters of Spark's plans as filters that Lance evaluates while it reads.

Spark evaluates its filter again, so a translation may only leave rows out that Spark would drop as well. Where it may
hold for more rows than Spark's, as those on floating-point numbers do, it does not stand below a NOT.

Answers that Spark does not look at again need more: see ``Condition.is_whole``. Lance simplifies conditions as if a
null were true or false, for example ``x NOT IN (1) OR x NOT IN (2)`` to true. That adds rows, and never takes one away:
what is true or false of a row stays so whatever a null in it is taken for. A conjunction of simple conditions has no
such place: where one of them is null, the whole is not true, and none of them becomes true by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace_spark import ranges

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
NULL_TESTS = {"IsNull": "IS NULL", "IsNotNull": "IS NOT NULL"}
CONNECTIVES = {"And": "AND", "Or": "OR"}
INTEGERS = frozenset({"byte", "short", "integer", "long"})
COLUMN = "AttributeReference"
"""As a condition: a column of booleans."""
REFUSING_NULL = frozenset({*COMPARISONS, *STRING_TESTS, "In", "EqualNullSafe", COLUMN})
"""Conditions that never hold for a null, so that Spark's own test for one beside them says nothing new."""
SIMPLE = REFUSING_NULL | frozenset(NULL_TESTS)
"""Conditions on one column that Lance evaluates as Spark does, nulls included, and so their opposites."""
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
    """Whether it holds for the same rows as Spark's, so that Spark need not look at them again."""


def to_lance(condition: Node) -> Condition:
    """A Catalyst condition, without those of its conjuncts that have no certain equal in Lance."""
    conjuncts = _conjuncts(condition)
    present = {name for one in conjuncts if one.kind in REFUSING_NULL for name in _tested(one)}
    needed = [one for one in conjuncts if one.kind != "IsNotNull" or not _tested(one) <= present]
    found = [_attempt(one) for one in needed]
    text = " AND ".join(text for text in found if text) or None
    return Condition(text, is_whole=all(_is_certain(one) for one in needed))


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
    return {str(one.fields["name"]) for one in (expression, *expression.children) if one.kind == COLUMN}


def _is_certain(expression: Node) -> bool:
    """Whether a condition is a simple one on one column, or the opposite of such."""
    inner = expression.children[0] if expression.kind == "Not" else expression
    if inner.kind not in SIMPLE or sum(one.kind == COLUMN for one in inner.below()) != 1:
        return False
    is_equal = expression.kind == "EqualNullSafe" and all(map(_is_exact, expression.children))
    return is_equal or _attempt(expression, exactly=True) is not None


def _attempt(expression: Node, *, exactly: bool = False) -> str | None:
    try:
        return _translated(expression, exactly=exactly)
    except _UntranslatableError:
        return None


def _translated(expression: Node, *, exactly: bool) -> str:
    """A condition that holds for the same rows, nulls included, or, if that is enough, for at least those."""
    kind, children = expression.kind, expression.children
    if kind in CONNECTIVES:
        return "(" + f" {CONNECTIVES[kind]} ".join(_translated(child, exactly=exactly) for child in children) + ")"
    if kind == "Not":
        return f"(NOT {_translated(children[0], exactly=True)})"
    if kind in NULL_TESTS:
        return f"({_column(children[0])} {NULL_TESTS[kind]})"
    if kind == COLUMN:
        return _column(expression)
    if kind == "EqualNullSafe" and not exactly and any(child.kind == "Literal" for child in children):
        return _compared("EqualTo", children, exactly=False)
    return _compared(kind, children, exactly=exactly)


def _compared(kind: str, children: tuple[Node, ...], *, exactly: bool) -> str:
    text = None
    if kind in STRING_TESTS:
        text = f"{STRING_TESTS[kind]}({_comparable(children[0])}, {_literal(children[1])})"
    elif kind == "In" and all(map(_is_exact, children)):
        text = f"({_column(children[0])} IN ({', '.join(map(_literal, children[1:]))}))"
    elif kind in COMPARISONS and all(map(_is_exact, children)):
        text = f"({_comparable(children[0])} {COMPARISONS[kind]} {_comparable(children[1])})"
    elif kind == "In" and not exactly:
        found = ranges.around(children[1:])
        text = None if found is None else ranges.within(_column(children[0]), found)
    elif kind in COMPARISONS and not exactly:
        text = ranges.compared(kind, _column(children[0]), children[1])
    if text is None:
        raise _UntranslatableError
    return text


def _is_exact(expression: Node) -> bool:
    """Whether values of a type compare in the same way on both sides."""
    return is_of(expression, COMPARABLE) or _is_decimal(expression)


def _is_decimal(expression: Node) -> bool:
    return str(expression.fields.get("dataType")).startswith("decimal(")


def _comparable(expression: Node) -> str:
    if not _is_exact(expression):
        raise _UntranslatableError
    return _literal(expression) if expression.kind == "Literal" else _column(expression)


def _column(expression: Node) -> str:
    if expression.kind != COLUMN:
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
    if _is_decimal(expression):
        return f"CAST('{value}' AS {kind})"
    raise _UntranslatableError

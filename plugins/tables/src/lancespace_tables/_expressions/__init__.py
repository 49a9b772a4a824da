"""Limits on the SQL expressions of callers, checked before Lance or DataFusion plan them.

Both plan an expression by recursion, so a deep one overflows the stack and kills the process: :func:`shallow` refuses
that everywhere. A server also limits what an expression may cost, see :class:`lancespace_tables.Limits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_DEPTH = 128
"""Operators and brackets inside each other. Lance overflows its stack at 500 casts or 800 additions in a row."""

MOST_TERMS = 5000
"""Terms joined by AND and OR. Lance overflows its stack between 12,800 and 51,200 of them."""

_SHORT = 2 * MOST_DEPTH
"""A level takes an operator and an operand, so a shorter text cannot be too deep."""

Expression = TypeVar("Expression", bound="str | None")


def shallow(expression: Expression) -> Expression:
    """The expression, if Lance can plan it without overflowing the stack.

    Raises:
        InvalidInputError: If it has too many levels or terms, or a form in which they could hide.
    """
    if expression is not None and len(expression) > _SHORT:
        from lancespace_tables._expressions.tokens import check_depth, tokens_of

        check_depth(tokens_of(expression))
    return expression


def all_shallow(expressions: Mapping[str, str]) -> dict[str, str]:
    """Expressions by name, each checked by :func:`shallow`."""
    return {name: shallow(expression) for name, expression in expressions.items()}

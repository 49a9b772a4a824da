"""The first look at an expression: its tokens. Nothing here recurses, so no expression is too deep for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from lance_namespace import InvalidInputError
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from lancespace_tables._expressions import MOST_DEPTH, MOST_TERMS

_STANDARD_FORMS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "OVERLAY")

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_JOINING = {TokenType.AND, TokenType.OR}
_SEPARATING = {*_JOINING, TokenType.COMMA, TokenType.WHEN, TokenType.THEN, TokenType.ELSE}
_OPERANDS = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.HEX_STRING}


class LanceDialect(Postgres):
    """SQL as Lance and DataFusion read it; of strings, only the forms that both read the same way."""

    class Tokenizer(Postgres.Tokenizer):
        """Columns may be quoted by backticks; strings have no prefix but X, and no escapes."""

        IDENTIFIERS: ClassVar[list[Any]] = ['"', "`"]
        BIT_STRINGS: ClassVar[list[Any]] = []
        BYTE_STRINGS: ClassVar[list[Any]] = []
        HEREDOC_STRINGS: ClassVar[list[Any]] = []
        UNICODE_STRINGS: ClassVar[list[Any]] = []

    class Parser(PostgresParser):
        """Every call stays a call with its own name, except for the forms that have a grammar of their own."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: PostgresParser.FUNCTION_PARSERS[name] for name in _STANDARD_FORMS
        }


def tokens_of(expression: str) -> list[Token]:
    """The tokens of an expression, as Lance and DataFusion see them.

    Raises:
        InvalidInputError: If it is no SQL, or has a form that others read in another way.
    """
    try:  # Only here, a carriage return would end a comment.
        tokens = LanceDialect().tokenize(expression.replace("\r", " "))
    except SqlglotError as error:
        raise InvalidInputError(
            "The expression has a string, a quoted name or a comment that does not end: close it."
        ) from error
    if any("/*" in comment for token in tokens for comment in token.comments) or (not tokens and "/*" in expression):
        raise InvalidInputError("The expression has a comment inside of a comment: leave it out.")
    if any(token.token_type is TokenType.HEREDOC_STRING and _is_quote(expression, token) for token in tokens):
        raise InvalidInputError("The expression has a string in dollar signs: put it into single quotes.")
    return tokens


def _is_quote(expression: str, dollar: Token) -> bool:
    """Whether a dollar sign begins a string, as $$...$$ or $tag$...$tag$, rather than the name of a parameter."""
    end = expression.find("$", dollar.end + 1)
    tag = expression[dollar.end + 1 : end]
    return end > 0 and (not tag or tag.replace("_", "a").isalnum())


def check_depth(tokens: Sequence[Token]) -> None:
    """Refuse what is too deep for the stack of Lance's planner.

    Raises:
        InvalidInputError: If there are too many levels or terms.
    """
    terms = sum(token.token_type in _JOINING for token in tokens)
    if terms > MOST_TERMS:
        raise InvalidInputError(
            f"The expression joins {terms} terms by AND or OR, and {MOST_TERMS} are allowed: use IN for many values."
        )
    depth = _depth(token.token_type for token in tokens)
    if depth > MOST_DEPTH:
        raise InvalidInputError(
            f"The expression is {depth} levels deep, and {MOST_DEPTH} are allowed: use fewer operators and brackets "
            "inside each other or in a row."
        )


def _depth(kinds: Iterable[TokenType]) -> int:
    """At least the height of the syntax tree, terms of AND and OR aside: each operator in a row is a level."""
    levels: list[tuple[int, int, int]] = []
    operators = inner = deepest = 0
    for kind in kinds:
        if kind in _OPENING:
            operators += kind is TokenType.L_BRACKET  # An index: a[0][0] is two levels.
            levels.append((operators, inner, deepest))
            operators = inner = deepest = 0
        elif kind in _CLOSING and levels:
            below = max(deepest, operators + inner) + 1
            operators, inner, deepest = levels.pop()
            inner = max(inner, below)
        elif kind in _SEPARATING:
            deepest = max(deepest, operators + inner)
            operators = inner = 0
        elif kind not in _OPERANDS:
            operators += 1
    total = max(deepest, operators + inner)
    while levels:
        operators, inner, deepest = levels.pop()
        total = max(deepest, operators + max(inner, total + 1))
    return total

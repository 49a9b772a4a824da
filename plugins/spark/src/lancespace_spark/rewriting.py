"""The text of a statement with views in the place of tables, and what Spark says about it with tables again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lance_namespace import TableSchemaValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.errors import AnalysisException

    from lancespace_spark.relations import Bound
    from lancespace_spark.statements import Statement

_NAME = re.compile(r"`(?:``|[^`])*`|\w+")
_TOKENS = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|--[^\n]*|/\*.*?\*/"  # Strings and comments, which stay as they are.
    rf"|(?P<name>(?:{_NAME.pattern})(?:\s*\.\s*(?:{_NAME.pattern}|\*))+)",
    re.DOTALL,
)


def rewritten(statement: Statement, bound: Sequence[Bound]) -> str:
    """The statement with the names of views in place of those of tables.

    Columns can be qualified as before: by the last of a table's names, or by all of them.
    """
    aliases = _aliases(statement, bound)
    pieces, last = [], 0
    for one in bound:
        alias = aliases.get(one.mention.names) if one.mention.takes_alias else None
        pieces += [_requalified(statement.text[last : one.mention.start], aliases)]
        pieces += [one.view if alias is None else f"({one.view} AS `{alias}`)"]
        last = one.mention.stop + 1
    return "".join([*pieces, _requalified(statement.text[last:], aliases)])


def tell(error: AnalysisException, statement: Statement, bound: Sequence[Bound]) -> None:
    """Say what is wrong in the words of the statement.

    Raises:
        TableSchemaValidationError: If the statement names a column that was left out.
    """
    for one in bound:
        for field in one.dataset.schema:
            if field.name not in one.schema.names and field.name.lower() in statement.words:
                raise TableSchemaValidationError(
                    f"the column {field.name!r} of the table {one.handle.name!r} has the type {field.type}, which "
                    "Spark does not have: leave it out of the statement"
                ) from error
    captured: Any = error
    for one in bound:
        shown = re.compile(rf"\({one.view} AS `[^`]*`\)|`?{one.view}`?")
        name = one.handle.name.replace("\\", r"\\")
        captured._desc = shown.sub(name, captured._desc)  # noqa: SLF001 - Spark has no way to change what an error says


def _aliases(statement: Statement, bound: Sequence[Bound]) -> dict[tuple[str, ...], str]:
    """By which name columns of a table are qualified in the new text.

    The last one, unless that is another table's as well and the statement has all names to tell them apart.
    """
    found = {}
    for names in {one.mention.names for one in bound if one.mention.takes_alias}:
        rivals = {one.mention.names for one in bound if one.mention.names[-1] == names[-1]} - {names}
        is_qualified = any(_is_below(parts, names) for parts in statement.columns)
        found[names] = (".".join(names) if rivals and is_qualified else names[-1]).replace("`", "``")
    return found


def _is_below(parts: Sequence[str], names: Sequence[str]) -> bool:
    return len(names) > 1 and [*parts[: len(names)]] == [name.lower() for name in names] and len(parts) > len(names)


def _requalified(text: str, aliases: Mapping[tuple[str, ...], str]) -> str:
    """Columns that are qualified by all names of a table, by its alias instead."""

    def replaced(match: re.Match[str]) -> str:
        written = [one.group() for one in _NAME.finditer(match["name"] or "")]
        parts = [one.strip("`").replace("``", "`").lower() for one in written]
        has_star = match.group().endswith("*")
        for names, alias in aliases.items():
            if _is_below([*parts, "*"] if has_star else parts, names):
                return ".".join([f"`{alias}`", *written[len(names) :], *(["*"] if has_star else [])])
        return match.group()

    return _TOKENS.sub(replaced, text)

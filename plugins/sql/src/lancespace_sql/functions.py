"""Table functions for tables as they were: ``at_version``, ``at_tag`` and ``at_branch``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from datafusion import udtf
from lance_namespace import InvalidInputError

from lancespace import identifiers
from lancespace.errors import translate
from lancespace_sql.tables import scannable

if TYPE_CHECKING:
    from datafusion import Expr, SessionContext
    from datafusion.catalog import Table

    from lancespace import Namespace
    from lancespace_sql.notes import Notes

_EXAMPLES = {
    "version": "at_version('sales.orders', 3)",
    "tag": "at_tag('sales.orders', 'release')",
    "branch": "at_branch('sales.orders', 'experiment')",
}


def register_functions(context: SessionContext, namespace: Namespace, notes: Notes | None) -> None:
    """Add the table functions to a session."""
    for field in _EXAMPLES:
        context.register_udtf(udtf(functools.partial(_at, namespace, notes, field), f"at_{field}"))


def _at(namespace: Namespace, notes: Notes | None, field: str, *arguments: Expr) -> Table:
    try:
        identifier, value = _literals(field, arguments)
        return scannable(namespace, identifiers.parse(identifier), **{field: value})
    except Exception as error:
        if notes is not None:
            notes.raised.append(translate(error, about="SQL"))
        raise


def _literals(field: str, arguments: tuple[Expr, ...]) -> tuple[str, Any]:
    kinds = (str, int if field == "version" else str)
    try:
        values = [argument.python_value().as_py() for argument in arguments]
    except TypeError:
        values = []  # A column, or an expression of some.
    if len(values) != len(kinds) or not all(map(isinstance, values, kinds)):
        raise InvalidInputError(f"at_{field} takes a table's identifier and a {field} as literals: {_EXAMPLES[field]}.")
    return values[0], values[1]

"""`docs/reference/operations.md`: the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import LanceNamespace

from lancespace._operations import ALIASES, BASIC_OPERATIONS
from lancespace.authoring import COMMON_ERRORS, OPERATIONS, Kind, Operation, Payload, error_class
from tools.generators import markdown
from tools.generators.markdown import code, codes

if TYPE_CHECKING:
    from collections.abc import Iterable

INTRODUCTION = """
# Operations

The {count} operations of the Lance Namespace spec, as `lancespace.authoring.OPERATIONS` has them. Each is a
method of [`Namespace`](../guide/connecting.md) and a [hook](hooks.md) that backends implement.

- **In** and **out** name the request and response model, and in brackets how they travel where that is not plain JSON.
- **Query** lists the request's fields that travel in the URL's query; what a route has in braces are fields too.
- Beside the listed [errors](errors.md), every operation may answer the common ones:
  {common}.
- **✎** marks what may change something; the `readonly` [wrapper](../guide/wrappers.md) refuses exactly those.
"""

BASICS = """
## The basic eight

A backend on `TableBackend` implements these and gets the others: {basics}.
`rename_table` asks for a ninth method, `replace_entry`. [Writing a backend](../guide/writing-a-backend.md) shows how.
"""

DEPRECATED = """
## Deprecated names

{aliases}
"""

TITLES = ("Operation", "What it does", "HTTP", "In", "Out", "Query", "Errors")


def render() -> str:
    """The page."""
    sections = [_section(kind) for kind in Kind]
    common = codes(error_class(error).__name__ for error in COMMON_ERRORS)
    aliases = "\n".join(f"- `{alias}` is `{name}`, with a `DeprecationWarning`." for alias, name in ALIASES.items())
    return markdown.page(
        INTRODUCTION.format(count=len(OPERATIONS), common=common),
        *sections,
        BASICS.format(basics=codes(BASIC_OPERATIONS)),
        DEPRECATED.format(aliases=aliases),
    )


def _section(kind: Kind) -> str:
    rows = [_row(operation) for operation in OPERATIONS.values() if operation.kind is kind]
    return f"## {kind.value.capitalize()}\n\n{markdown.table(TITLES, rows)}"


def _row(operation: Operation) -> list[str]:
    summary, _, _ = markdown.docstring(getattr(LanceNamespace, operation.name)).partition("\n")
    response = "str" if operation.result is Payload.TEXT else operation.response
    return [
        code(operation.name) + (" ✎" if operation.writes else ""),
        summary,
        f"`{operation.method} {operation.route}` → {operation.status}",
        code(operation.request) + _travels(operation.body),
        code(response) + _travels(operation.result),
        codes(operation.query),
        _errors(operation.errors),
    ]


def _travels(payload: Payload) -> str:
    return "" if payload is Payload.JSON else f" ({payload.value})"


def _errors(names: Iterable[str]) -> str:
    return codes(error_class(name).__name__ for name in names)

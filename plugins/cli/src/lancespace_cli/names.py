"""Dotted names, and walking through those of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_namespace import LanceNamespaceError

    from lancespace import Namespace


def below(namespace: str, name: str) -> str:
    """The dotted name of something in a namespace."""
    return f"{namespace}.{name}" if namespace else name


def tables_below(ns: Namespace, namespace: str) -> list[str]:
    """All tables below a namespace, at whatever depth."""
    return [name for name, is_table in everything(ns, namespace) if is_table]


def everything(ns: Namespace, namespace: str) -> Iterator[tuple[str, bool]]:
    """All names below a namespace in the order of a tree, each with whether it is a table."""
    for child in ns.namespaces(namespace):
        yield below(namespace, child), False
        yield from everything(ns, below(namespace, child))
    for table in ns.tables(namespace):
        yield below(namespace, table), True


def neither(error: LanceNamespaceError, name: str) -> LanceNamespaceError:
    """The error for a name that could have been a table's or a namespace's; one about a name above it stays."""
    return type(error)(f"Table or namespace not found: {name!r}.") if f": {name!r}" in str(error) else error

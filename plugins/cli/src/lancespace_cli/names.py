"""Dotted names, and walking through those of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lancespace import Namespace


def below(namespace: str, name: str) -> str:
    """The dotted name of something in a namespace."""
    return f"{namespace}.{name}" if namespace else name


def everything(ns: Namespace, namespace: str) -> Iterator[tuple[str, bool]]:
    """All names below a namespace in the order of a tree, each with whether it is a table."""
    for child in ns.namespaces(namespace):
        yield below(namespace, child), False
        yield from everything(ns, below(namespace, child))
    for table in ns.tables(namespace):
        yield below(namespace, table), True

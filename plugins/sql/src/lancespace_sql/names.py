"""Names in SQL: how a table is written, and which one may have been meant.

DataFusion takes names of up to three parts. Whatever is before the last part is the namespace, dotted as everywhere
else: ``sales.eu.orders`` and ``"sales.eu".orders`` are the same table, and ``orders`` is one of the root namespace.
"""

from __future__ import annotations

import difflib
import itertools
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, LanceNamespaceError

from lancespace.authoring import identifiers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lancespace import Namespace
    from lancespace.authoring import Identifier

_MOST_COMPARED = 10_000


def quote(identifier: Identifier) -> str:
    """The table's name as SQL, quoted so that any character, capital or keyword may be in it: ``"sales"."Orders"``.

    Raises:
        InvalidInputError: If it names no table, or the name of a namespace has a dot in it.
    """
    *namespace, table = identifiers.parse(identifier) or [""]
    if not table:
        raise InvalidInputError("The root namespace is not a table: name one, e.g. 'sales.orders'.")
    for name in namespace:
        if "." in name:
            raise InvalidInputError(f"SQL cannot name the namespace {name!r}: it would read the dot as a separator.")
    parts = [".".join(namespace), table] if namespace else [table]
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def suggestion(namespace: Namespace, names: list[str]) -> str:
    """A sentence with the tables that may have been meant, each ready to be pasted; empty if there are none."""
    try:
        near = [quote(found) for found in _near(namespace, names)]
    except LanceNamespaceError:
        return ""  # The catalog cannot be listed; that the table is not there is what the caller must hear.
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _near(namespace: Namespace, names: list[str]) -> Iterator[list[str]]:
    """The identifier with its first unknown name replaced by those like it."""
    *parents, table = names
    for depth, parent in enumerate(parents):
        children = list(namespace.namespaces(names[:depth]))
        if parent not in children:
            for child in _close(parent, children):
                yield [*names[:depth], child, *names[depth + 1 :]]
            return
    for found in _close(table, itertools.islice(namespace.tables(parents), _MOST_COMPARED)):
        yield [*parents, found]


def _close(name: str, candidates: Iterable[str]) -> list[str]:
    """Capitals do not count: SQL makes an unquoted ``Orders`` into ``orders``."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates if candidate != name}
    return [by_folded[match] for match in difflib.get_close_matches(name.casefold(), by_folded)]

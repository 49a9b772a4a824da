"""Names that a wrong one may have been meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lancespace_cli.names import below

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_cli.state import State

_QUOTED = re.compile(r"'([^'\s]+)'")
_LOOKED_AT = 5000
"""So many names are compared at most: a suggestion is not worth a long wait."""


def near_match(error: Exception, state: State) -> str:
    """A sentence for the end of a message about a table or namespace that is not there; empty if nothing is near."""
    from lance_namespace import LanceNamespaceError, NamespaceNotFoundError, TableNotFoundError

    named = _QUOTED.search(str(error))
    if not isinstance(error, (TableNotFoundError, NamespaceNotFoundError)) or named is None:
        return ""
    try:
        known = list(islice(_siblings(state.namespace, named.group(1)), _LOOKED_AT))
    except LanceNamespaceError:
        return ""  # The first error is the one to tell.
    near = difflib.get_close_matches(named.group(1), known, n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _siblings(namespace: Namespace, name: str) -> Iterator[str]:
    parent = name.rpartition(".")[0]
    for found in (*namespace.tables(parent), *namespace.namespaces(parent)):
        yield below(parent, found)

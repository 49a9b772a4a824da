"""What may have been meant, for the end of an error message: a name that is near, or what to do about it."""

from __future__ import annotations

import difflib
import re
from itertools import islice
from typing import TYPE_CHECKING

from lancespace_cli.exits import USAGE_ERROR
from lancespace_cli.names import below

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_cli.state import State

_QUOTED = re.compile(r"'([^'\s]+)'")
_LOOKED_AT = 5000
"""So many names are compared at most: a suggestion is not worth a long wait."""

_REMEDIES = (
    (re.compile(r"No field named (\w+)"), r"If \1 is a text and no column, write it in single quotes: '\1'."),
    (re.compile(r"unless an INVERTED index"), "Build one with: lancespace index create TABLE COLUMN FTS"),
    (re.compile(r"SHOW TABLES is not supported"), "List tables with: lancespace tree"),
    (
        re.compile(r"JSON parse error: Column\(\) changed from object to array"),
        "A file of JSON has an object a line here; make that of an array with: jq -c '.[]' FILE",
    ),
)
"""What Lance and Arrow say in words that a person at a terminal has not used."""


def suggestion(error: Exception, state: State) -> str:
    """A sentence to put after a message; empty if there is nothing to suggest."""
    message = str(error)
    for pattern, remedy in _REMEDIES:
        if found := pattern.search(message):
            return f"{'' if message.endswith('.') else '.'} {found.expand(remedy)}"
    return "" if "Did you mean" in message else _near_match(error, state)


def _near_match(error: Exception, state: State) -> str:
    """For a table or namespace that is not there: what is, under that name or one like it."""
    from lance_namespace import LanceNamespaceError, NamespaceNotFoundError, TableNotFoundError

    named = _QUOTED.search(str(error))
    if not isinstance(error, (TableNotFoundError, NamespaceNotFoundError)) or named is None:
        return ""
    try:
        known = _siblings(state.namespace, named.group(1))
    except (LanceNamespaceError, USAGE_ERROR):
        return ""  # The first error is the one to tell, also where no catalog is named, as with a pipeline.
    if named.group(1) in known:
        return f" {known[named.group(1)]}"
    near = difflib.get_close_matches(named.group(1), known, n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _siblings(namespace: Namespace, name: str) -> dict[str, str]:
    """The names in the same namespace, each with what to say if it is the very name that was given."""
    parent = name.rpartition(".")[0]
    tables = (below(parent, found) for found in islice(namespace.tables(parent), _LOOKED_AT))
    namespaces = (below(parent, found) for found in islice(namespace.namespaces(parent), _LOOKED_AT))
    return {found: f"It is a table: see lancespace describe {found}" for found in tables} | {
        found: f"It is a namespace: see lancespace ls {found}" for found in namespaces
    }

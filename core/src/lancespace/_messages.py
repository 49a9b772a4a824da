"""The errors about names, each made in one place.

They begin with the words of the Rust implementation, which clients look for: lancedb finds "Table not found", "was not
found" and "Namespace not empty" in the text to tell which error it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from lance_namespace import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

from lancespace import identifiers

Names = Sequence[str]


def no_table(names: Names) -> TableNotFoundError:
    """The error for a table that is not there."""
    return TableNotFoundError(f"Table not found: {_shown(names)}.")


def no_namespace(names: Names, table: Names = ()) -> NamespaceNotFoundError:
    """The error for a namespace that is not there, and where a table of it was looked for, that table."""
    so = f", so the table {_shown(table)} was not found" if table else ""
    return NamespaceNotFoundError(f"Namespace not found: {_shown(names)}{so}.")


def table_exists(names: Names, remedy: str = "choose another name, or drop it first") -> TableAlreadyExistsError:
    """The error for a table name that is taken."""
    return TableAlreadyExistsError(f"Table already exists: {_shown(names)}; {remedy}.")


def namespace_exists(names: Names, taken_by: str = "namespace") -> NamespaceAlreadyExistsError:
    """The error for a namespace whose name is taken, by a namespace or a table."""
    what = "" if taken_by == "namespace" else f" as a {taken_by}"
    return NamespaceAlreadyExistsError(f"Namespace already exists: {_shown(names)}{what}; choose another name.")


def namespace_not_empty(names: Names, child: Names) -> NamespaceNotEmptyError:
    """The error for a namespace that holds something."""
    return NamespaceNotEmptyError(
        f"Namespace not empty: {_shown(names)} holds {_shown(child)}; "
        "drop what is in it, or use the behavior 'Cascade'."
    )


def _shown(names: Names) -> str:
    return repr(identifiers.show(list(names))) if names else "the root"

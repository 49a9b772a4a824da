"""What must be granted for a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from lancespace.authoring import DELIMITER, DROP_BEHAVIORS, OPERATIONS, Kind, Operation, Subject, choose

WHOLE_CATALOG: tuple[str, ...] = ()
"""The root namespace: only grants on ``**`` have it, and they have everything."""

_TAKING_VERBS = frozenset({"drop", "deregister", "register", "rename"})
_BY_REQUEST = {row.request: row for row in OPERATIONS.values()}


class Need(NamedTuple):
    """An action, and the object that it is done to, or all that is below it."""

    action: str
    names: tuple[str, ...]
    is_below: bool = False

    def __str__(self) -> str:
        names = (*self.names, "**") if self.is_below or not self.names else self.names
        return f"{self.action} {DELIMITER.join(names)!r}"


def action_of(operation: Operation) -> str:
    """The class of an operation: ``read``, ``write``, or ``admin`` for what gives names to tables and takes them away.

    Namespaces are for admins to make and drop; tables are for writers to create, and for admins to drop, rename and
    register.
    """
    if not operation.writes:
        return "read"
    takes = operation.subject is Subject.NAMESPACE or operation.name.partition("_")[0] in _TAKING_VERBS
    return "admin" if takes and operation.kind is Kind.METADATA else "write"


def needs(operation: Operation, request: Any) -> Iterator[Need]:
    """Everything that must be granted for a request."""
    if operation.subject is Subject.CATALOG:
        yield from _of_batch(operation, request)
    elif operation.subject is Subject.TRANSACTION:
        yield from _of_transaction(operation, request)
    else:
        yield from _of_object(operation, request)
    if operation.name == "rename_table":
        parent = request.id[:-1] if request.new_namespace_id is None else request.new_namespace_id
        yield Need("admin", (*parent, request.new_table_name))
    if operation.name == "drop_namespace" and choose("behavior", request.behavior, DROP_BEHAVIORS) == "Cascade":
        yield Need("admin", tuple(request.id or ()), is_below=True)


def _of_object(operation: Operation, request: Any) -> Iterator[Need]:
    """The object itself; and a table at a place of the caller's choice may be anybody's."""
    yield Need(action_of(operation), tuple(request.id or ()))
    if operation.writes and getattr(request, "location", None):
        yield Need("admin", WHOLE_CATALOG)


def _of_transaction(operation: Operation, request: Any) -> Iterator[Need]:
    """The table whose commit it is; a job's id is one name, which cannot be guessed: who knows it may use it."""
    table = tuple(request.id or ())[:-1]
    if table:
        yield Need(action_of(operation), table)


def _of_batch(operation: Operation, request: Any) -> Iterator[Need]:
    for entry in getattr(request, "entries", ()):
        yield Need(action_of(operation), tuple(entry.id or ()))
    for change in getattr(request, "operations", ()):
        for _, part in change:
            if part is not None:
                yield from _of_object(_BY_REQUEST[type(part).__name__], part)

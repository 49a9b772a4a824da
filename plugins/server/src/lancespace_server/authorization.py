"""``wrappers=authz``: the policy, enforced around every operation before the backend is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lance_namespace import PermissionDeniedError

from lancespace import identifiers
from lancespace.backends.choices import DROP_BEHAVIORS, choose
from lancespace.operations import OPERATIONS, Kind, Operation, Subject
from lancespace.properties import Property
from lancespace.storage.vending import PERMISSION
from lancespace.wrappers import Around, OperationWrapper
from lancespace_server.policy import Policy
from lancespace_server.principals import PRINCIPAL, SYSTEM

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace.connection import Connection

Need = tuple[str, tuple[str, ...]]
"""An action and the object that it is done to."""

WHOLE_CATALOG: tuple[str, ...] = ()
"""The root namespace: only grants on ``**`` have it, and they have everything."""

_ANYTHING = "\0"
"""Stands for any name: none can be called that, so only wildcards match it."""

_TAKING_VERBS = frozenset({"drop", "deregister", "register", "rename"})
_BY_REQUEST = {row.request: row for row in OPERATIONS.values()}


def action_of(operation: Operation) -> str:
    """The class of an operation: ``read``, ``write``, or ``admin`` for what gives names to tables and takes them away.

    Namespaces are for admins to make and drop; tables are for writers to create, and for admins to drop, rename and
    register.
    """
    if not operation.writes:
        return "read"
    takes = operation.subject is Subject.NAMESPACE or operation.name.partition("_")[0] in _TAKING_VERBS
    return "admin" if takes and operation.kind is Kind.METADATA else "write"


class AuthorizationWrapper(OperationWrapper):
    """Lets through what the policy grants the principal; outside of the server there is none, and nothing passes."""

    properties = (Property("policy", "TOML file with the grants", required=True),)

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._policy = Policy.load(connection.settings["authz.policy"])
        vends = connection.settings.declares(PERMISSION)
        self._vended: str = connection.settings[PERMISSION] if vends else "read"
        """What temporary credentials in answers allow: an action, by the same names."""

    def around(self, operation: Operation, request: BaseModel) -> Around:
        """Refuse, or go on; listings show only what the principal may read."""
        principal = PRINCIPAL.get()
        if principal == SYSTEM:
            return (yield)
        authorize(self._policy, principal, operation, request)
        return self._filtered(principal or "", operation, request, (yield))

    def _filtered(self, principal: str, operation: Operation, request: Any, answer: Any) -> Any:
        """The answer without what is not for the principal.

        Listings have only what it may read, so a page may be shorter than its limit; and there are no credentials that
        allow more than it is granted.
        """
        if operation.response == "ListNamespacesResponse":
            answer.namespaces = [n for n in answer.namespaces if self._sees(principal, (*(request.id or ()), n))]
        elif operation.response == "ListTablesResponse" and operation.subject is Subject.CATALOG:
            answer.tables = [n for n in answer.tables if self._sees(principal, tuple(identifiers.split(n)))]
        elif operation.response == "ListTablesResponse":
            answer.tables = [n for n in answer.tables if self._sees(principal, (*(request.id or ()), n))]
        elif getattr(answer, "storage_options", None) and not self._gets_credentials(principal, request):
            answer.storage_options = None
        return answer

    def _gets_credentials(self, principal: str, request: Any) -> bool:
        return self._policy.allows(principal, self._vended, tuple(request.id or ()))

    def _sees(self, principal: str, names: tuple[str, ...]) -> bool:
        return self._policy.allows(principal, "read", names)


def authorize(policy: Policy, principal: str | None, operation: Operation, request: BaseModel) -> None:
    """Find that the policy grants a request.

    Raises:
        PermissionDeniedError: Naming the grant that is missing.
    """
    if principal is None:
        raise PermissionDeniedError(f"{operation.name} is refused: nobody is acting (the server sets who is).")
    for action, names in _needs(operation, request):
        if not policy.allows(principal, action, names):
            raise PermissionDeniedError(_refusal(principal, action, names, operation))
    # A transaction's id cannot be guessed: who knows it may use it, given any grant of the action.
    action = action_of(operation)
    if operation.subject is Subject.TRANSACTION and not policy.allows_somewhere(principal, action):
        raise PermissionDeniedError(f"{principal!r} has no grant to {action}, which {operation.name} needs.")


def _needs(operation: Operation, request: Any) -> Iterator[Need]:
    """Everything that must be granted for a request."""
    if operation.subject is Subject.CATALOG:
        yield from _batch_needs(operation, request)
    elif operation.subject is not Subject.TRANSACTION:
        yield from _own_needs(operation, request)
    if operation.subject is Subject.VIEW:
        yield "read", WHOLE_CATALOG  # It may read any table.
    if operation.name == "rename_table":
        parent = request.id[:-1] if request.new_namespace_id is None else request.new_namespace_id
        yield "admin", (*parent, request.new_table_name)
    if operation.name == "drop_namespace" and choose("behavior", request.behavior, DROP_BEHAVIORS) == "Cascade":
        yield "admin", (*(request.id or ()), _ANYTHING)
        yield "admin", (*(request.id or ()), _ANYTHING, _ANYTHING)


def _own_needs(operation: Operation, request: Any) -> Iterator[Need]:
    """The object itself; and a table at a place of the caller's choice may be anybody's."""
    yield action_of(operation), tuple(request.id or ())
    if operation.writes and getattr(request, "location", None):
        yield "admin", WHOLE_CATALOG


def _batch_needs(operation: Operation, request: Any) -> Iterator[Need]:
    for entry in getattr(request, "entries", ()):
        yield action_of(operation), tuple(entry.id or ())
    for change in getattr(request, "operations", ()):
        for _, part in change:
            if part is not None:
                yield from _own_needs(_BY_REQUEST[type(part).__name__], part)


def _refusal(principal: str, action: str, names: tuple[str, ...], operation: Operation) -> str:
    what = identifiers.DELIMITER.join("**" if name == _ANYTHING else name for name in names) or "**"
    return f"{principal!r} has no grant to {action} {what!r}, which {operation.name} needs."

"""``wrappers=authz``: the policy, enforced around every operation before the backend is reached."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError, PermissionDeniedError

from lancespace.authoring import (
    PERMISSION,
    PERMISSIONS,
    PRINCIPAL,
    Around,
    Operation,
    OperationWrapper,
    Principal,
    Property,
    Subject,
    acting,
    hookimpl,
    identifiers,
    model,
)
from lancespace_server.auth.apikeys import KEY_PREFIX, watched
from lancespace_server.listings import FIELDS, Listing, Seal
from lancespace_server.needs import Need, action_of, needs
from lancespace_server.policy import Policy
from lancespace_server.principals import SYSTEM
from lancespace_server.reloading import Reloaded

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace.authoring import Connection

NAME = "authz"
_POLICY = f"{NAME}.policy"
_API_KEYS = f"{NAME}.api_keys"
_BATCH = "BatchCommitTablesResponse"


class AuthorizationWrapper(OperationWrapper):
    """Lets through what the policy grants the principal; outside of the server there is none, and nothing passes."""

    properties = (
        Property("policy", "TOML file with the grants", required=True),
        Property("api_keys", "File of the server's API keys: work that was started with a revoked key is refused"),
        Property(
            "token_key",
            "What page tokens are sealed with if they could tell names; servers that share callers need the same one",
            secret=True,
        ),
    )

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._file = Reloaded(connection.settings[_POLICY], Policy.load)
        self._keys = watched(connection.settings[_API_KEYS])
        self._seal = Seal(connection.settings[f"{NAME}.token_key"])
        self._vended = _needed_for_credentials(connection)

    def around(self, operation: Operation, request: BaseModel) -> Around:
        """Refuse, or go on; answers have only what the principal may see."""
        principal = self._authorized(operation, request)
        if principal is SYSTEM:
            return (yield)
        if operation.response in FIELDS:
            return (yield from self._listing(principal, operation, request))
        answer = yield
        if _may_have_credentials(operation.response):
            self._take_credentials(principal, operation, request, answer)
        return answer

    @property
    def _policy(self) -> Policy:
        """As the file has it now."""
        return self._file.value

    @hookimpl
    def check_access(self, operation: Operation, request: BaseModel) -> None:
        """Refuse what the policy does not grant the principal at this moment, or what nobody has the key for."""
        principal = self._authorized(operation, request)
        keys = self._keys()
        if keys is not None and principal.name.startswith(KEY_PREFIX) and not keys.has(principal.name):
            raise PermissionDeniedError(
                f"{operation.name} is refused: the API key of {principal.name!r} has been revoked. "
                "Somebody with a key has to start it, or create it, again."
            )

    def _authorized(self, operation: Operation, request: BaseModel) -> Principal:
        principal = PRINCIPAL.get()
        if principal is None:
            raise PermissionDeniedError(
                f"{operation.name} is refused: it is not known who asks for it. The server sets that for its callers; "
                "a view or virtual column that has no creator must be created again."
            )
        if principal is not SYSTEM:
            authorize(self._policy, principal, operation, request)
        return principal

    def _listing(self, principal: Principal, operation: Operation, request: Any) -> Around:
        """List what the principal may read; the backend gets the token that it gave out."""
        given = request.page_token
        if given:
            request.page_token = self._seal.opened(given)
        try:
            first = yield
            field = FIELDS[operation.response]
            names, token = Listing(
                request, field, self._sight(principal, operation, request), self._unfiltered(operation)
            ).page(first)
        finally:
            if given:
                request.page_token = given
        told = self._seal.closed(token, names[-1]) if token else None
        if (
            names != getattr(first, field) or told != first.page_token
        ):  # Models check all of their fields at every change.
            return first.model_copy(update={field: names, "page_token": told})
        return first

    def _sight(self, principal: Principal, operation: Operation, request: Any) -> Callable[[str], bool]:
        """Says of the names of a listing whether the principal may read what is called that."""
        if operation.subject is Subject.CATALOG:
            return lambda name: self._policy.allows(principal, "read", tuple(identifiers.split(name)))
        parent = tuple(request.id or ())
        return lambda name: self._policy.allows(principal, "read", (*parent, name))

    def _unfiltered(self, operation: Operation) -> Callable[[BaseModel], Any]:
        """Asks again for a listing, as the server itself."""

        def ask(request: BaseModel) -> Any:
            with acting(SYSTEM):
                return getattr(self.connection.hooks, operation.name)(request=request)

        return ask

    def _take_credentials(self, principal: Principal, operation: Operation, request: Any, answer: Any) -> None:
        """Leave them out, unless all that they allow is granted on every table of the request."""
        parts = [part.declare_table for part in answer.results] if operation.response == _BATCH else [answer]
        having = [part for part in parts if part is not None and part.storage_options]
        tables = {need.names for need in needs(operation, request)} if having else ()
        if not all(self._policy.allows(principal, action, names) for names in tables for action in self._vended):
            for part in having:
                part.storage_options = None


@functools.cache
def _may_have_credentials(response: str) -> bool:
    return response == _BATCH or "storage_options" in model(response).model_fields


def _needed_for_credentials(connection: Connection) -> tuple[str, ...]:
    """The actions that temporary credentials allow: each permission has those before it, an unknown one may have all.

    What another server hands out, say, is not known here.
    """
    settings = connection.settings
    last = settings[PERMISSION] if settings.declares(PERMISSION) else PERMISSIONS[-1]
    return PERMISSIONS[: PERMISSIONS.index(last) + 1]


def policy_path(properties: Mapping[str, str]) -> str | None:
    """The policy file that the properties of a connection ask for."""
    names = [name.strip() for name in properties.get("wrappers", "").split(",")]
    return properties.get(_POLICY) if NAME in names else None


def with_policy(properties: Mapping[str, str], path: str | None, api_keys: str | None = None) -> dict[str, str]:
    """The properties with the policy as the outermost wrapper, so that no other can answer what is not granted.

    All workers get one key for page tokens: what one gives out is for all.

    Raises:
        InvalidInputError: If the properties have another policy already.
    """
    own = policy_path(properties)
    if own is None and path is None:
        return dict(properties)
    if own is not None and path not in {None, own}:
        raise InvalidInputError(f"There are two policies, {path!r} and {_POLICY}={own!r}: keep one.")
    known = {f"{NAME}.token_key": secrets.token_hex()} | ({} if api_keys is None else {_API_KEYS: api_keys})
    if own is not None:
        return {**known, **properties}
    wrappers = ",".join(filter(None, (NAME, properties.get("wrappers"))))
    return {**known, **properties, "wrappers": wrappers, _POLICY: str(path)}


def authorize(policy: Policy, principal: Principal, operation: Operation, request: BaseModel) -> None:
    """Find that the policy grants a request, before anything is looked up: a refusal does not tell what there is.

    Raises:
        PermissionDeniedError: Naming the grant that is missing.
        InvalidInputError: If an identifier is not allowed; nothing is granted on those.
    """
    for need in needs(operation, request):
        identifiers.validate(need.names)
        if not _is_granted(policy, principal, need):
            raise PermissionDeniedError(f"{principal.name!r} has no grant to {need}, which {operation.name} needs.")
    if operation.subject is Subject.TRANSACTION and not policy.allows_somewhere(principal, action_of(operation)):
        action = action_of(operation)
        raise PermissionDeniedError(f"{principal.name!r} has no grant to {action}, which {operation.name} needs.")


def _is_granted(policy: Policy, principal: Principal, need: Need) -> bool:
    if need.is_below:
        return policy.allows_below(principal, need.action, need.names)
    return policy.allows(principal, need.action, need.names)

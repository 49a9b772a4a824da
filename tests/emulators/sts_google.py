"""Google's token exchange, impersonation, and a Google Cloud Storage that heeds the boundaries of tokens.

Of the language of conditions it knows what boundaries of prefixes are written in: tests for the beginning of a name or
of a listing's prefix, joined by "or". What it does not understand, it refuses.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.emulators.gcs import errors
from tests.emulators.gcs.server import GcsService
from tests.emulators.loopback import Answer, Request
from tests.emulators.serving import serving
from tests.emulators.sts import Grant, GuardedStore, guarded

_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
_EXCHANGE = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "requested_token_type": _ACCESS_TOKEN,
    "subject_token_type": _ACCESS_TOKEN,
}
_ROLES = {
    "inRole:roles/storage.objectViewer": {"read", "list"},
    "inRole:roles/storage.objectCreator": {"write"},
    "inRole:roles/storage.objectAdmin": {"read", "list", "write", "delete"},
}
_OBJECT = re.compile(r'resource\.name\.startsWith\(("(?:[^"\\]|\\.)*")\)')
_LISTING = re.compile(
    r'api\.getAttribute\("storage\.googleapis\.com/objectListPrefix", ""\)\.startsWith\(("(?:[^"\\]|\\.)*")\)'
)
_IMPERSONATE = re.compile(r"/v1/projects/-/serviceAccounts/([^/:]+):generateAccessToken")


@dataclass
class TokenExchange:
    """Answers ``/v1/token`` and ``:generateAccessToken``, and remembers what it was asked."""

    store: GuardedStore
    tokens: set[str]
    """The tokens that the store takes; those of others cannot be exchanged either."""
    lifetime: float = 3600
    says_lifetime: bool = True
    boundaries: list[dict[str, Any]] = field(default_factory=list)
    impersonated: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        if found := _IMPERSONATE.fullmatch(request.raw_path):
            return self._impersonate(request, found.group(1))
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        if any(form.get(name) != value for name, value in _EXCHANGE.items()):
            return _json(400, {"error": "invalid_request"})
        if form.get("subject_token") not in self.tokens - set(self.store.grants):
            return _json(400, {"error": "invalid_grant", "error_description": "Unknown token."})
        boundary = json.loads(unquote(form["options"]))["accessBoundary"]
        self.boundaries.append(boundary)
        token = f"downscoped-{len(self.boundaries)}"
        self.store.grants[token] = Grant(_Boundary(boundary).allows, time.time() + self.lifetime)
        self.tokens.add(token)
        said = {"expires_in": self.lifetime} if self.says_lifetime else {}
        return _json(200, {"access_token": token, "token_type": "Bearer", "issued_token_type": _ACCESS_TOKEN, **said})

    def _impersonate(self, request: Request, account: str) -> Answer:
        if _bearer(request) not in self.tokens:
            return _json(401, {"error": {"code": 401, "message": "Unknown token."}})
        self.impersonated.append(account)
        self.tokens.add(f"token-of-{account}")
        expiry = datetime.fromtimestamp(time.time() + self.lifetime, timezone.utc)
        return _json(200, {"accessToken": f"token-of-{account}", "expireTime": expiry.strftime("%Y-%m-%dT%H:%M:%SZ")})


@dataclass(frozen=True)
class _Boundary:
    boundary: dict[str, Any]

    def allows(self, action: str, bucket: str, key: str) -> bool:
        return any(self._rule_allows(rule, action, bucket, key) for rule in self.boundary["accessBoundaryRules"])

    def _rule_allows(self, rule: dict[str, Any], action: str, bucket: str, key: str) -> bool:
        roles = rule["availablePermissions"]
        resource = f"//storage.googleapis.com/projects/_/buckets/{bucket}"
        if rule["availableResource"] != resource or not any(action in _ROLES[role] for role in roles):
            return False
        pattern, name = (_LISTING, key) if action == "list" else (_OBJECT, f"projects/_/buckets/{bucket}/objects/{key}")
        terms = rule["availabilityCondition"]["expression"].split(" || ")
        found = filter(None, (pattern.fullmatch(term) for term in terms))
        return any(name.startswith(json.loads(match.group(1))) for match in found)


@dataclass(frozen=True)
class GuardedGcs:
    """A running storage and its token exchange."""

    endpoint: str
    sts_endpoint: str
    exchange: TokenExchange


@contextmanager
def guarded_gcs(*buckets: str, token: str) -> Iterator[GuardedGcs]:
    """Run both; the owner has the token."""
    store = GuardedStore(buckets)
    service = GcsService(store, token)
    exchange = TokenExchange(store, service.tokens)
    refused = guarded(service, store, _bearer, lambda status: errors.as_json(status, "Access denied."))
    with serving(refused) as endpoint, serving(exchange) as sts_endpoint:
        yield GuardedGcs(endpoint, sts_endpoint, exchange)


def _bearer(request: Request) -> str:
    return (request.header("Authorization") or "").removeprefix("Bearer ")


def _json(status: int, body: dict[str, Any]) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})

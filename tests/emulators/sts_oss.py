"""Alibaba's STS, which checks who asks, and an OSS that heeds the policies of the sessions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import parse_qsl, quote

from tests.emulators.loopback import Answer, Request
from tests.emulators.oss import answers
from tests.emulators.oss.server import OssService
from tests.emulators.oss.signature import AccessKey
from tests.emulators.serving import serving
from tests.emulators.sts import Grant, GuardedStore, guarded

_ACTIONS = {"read": "oss:GetObject", "write": "oss:PutObject", "delete": "oss:DeleteObject", "list": "oss:ListObjects"}


@dataclass
class SecurityTokenService:
    """Answers AssumeRole; whose signature is wrong, or who names another role, is refused."""

    store: GuardedStore
    keys: dict[str, AccessKey]
    """The keys that OSS knows, new ones among them."""
    role: str
    lifetime: float = 3600
    """A session's life; what is asked for is written down, not obeyed, so that tests need not wait for minutes."""
    asked: list[dict[str, str]] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        parameters = {**request.query, **dict(parse_qsl(request.body.decode()))}
        key = self.keys.get(parameters.get("AccessKeyId", ""))
        if key is None or not _is_signed(request.method, parameters, key):
            return _error(
                403, "SignatureDoesNotMatch", f"It is wrong. server string to sign is:{sorted(parameters.items())}"
            )
        if (parameters["Action"], parameters["Version"]) != ("AssumeRole", "2015-04-01"):
            return _error(404, "InvalidAction.NotFound")
        if parameters["RoleArn"] != self.role:
            return _error(403, "NoPermission")
        self.asked.append(parameters)
        return self._open_session(json.loads(parameters["Policy"]))

    def _open_session(self, policy: dict[str, Any]) -> Answer:
        name = f"STS.{len(self.asked)}"
        session = AccessKey(f"secret-{name}", f"token-{name}")
        expires_at = int(time.time() + self.lifetime)
        self.store.grants[name] = Grant(_Policy(policy).allows, expires_at)
        self.keys[name] = session
        credentials = {
            "AccessKeyId": name,
            "AccessKeySecret": session.secret,
            "SecurityToken": session.security_token,
            "Expiration": datetime.fromtimestamp(expires_at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return _json(200, {"RequestId": "0", "Credentials": credentials})


@dataclass(frozen=True)
class _Policy:
    policy: dict[str, Any]

    def allows(self, action: str, bucket: str, key: str) -> bool:
        return any(self._statement_allows(statement, action, bucket, key) for statement in self.policy["Statement"])

    def _statement_allows(self, statement: dict[str, Any], action: str, bucket: str, key: str) -> bool:
        resource = f"acs:oss:oss-cn-test:1:{bucket}" + ("" if action == "list" else f"/{key}")
        if _ACTIONS[action] not in statement["Action"] or not _matches(statement["Resource"], resource):
            return False
        prefixes = statement.get("Condition", {}).get("StringLike", {}).get("oss:Prefix")
        return prefixes is None or _matches(prefixes, key)


def _matches(patterns: list[str], text: str) -> bool:
    return any(fnmatchcase(text, pattern.replace("[", "[[]")) for pattern in patterns)


def _is_signed(method: str, parameters: dict[str, str], key: AccessKey) -> bool:
    """The signature of Alibaba's RPC interfaces, version 1.0."""
    if parameters.get("SecurityToken") != key.security_token:
        return False
    signed = sorted((name, value) for name, value in parameters.items() if name != "Signature")
    query = "&".join(f"{_quote(name)}={_quote(value)}" for name, value in signed)
    text = f"{method}&{_quote('/')}&{_quote(query)}"
    digest = hmac.new(f"{key.secret}&".encode(), text.encode(), hashlib.sha1).digest()
    return hmac.compare_digest(base64.b64encode(digest).decode(), parameters.get("Signature", ""))


def _quote(text: str) -> str:
    return quote(text, safe="~")


@dataclass(frozen=True)
class GuardedOss:
    """A running storage and its STS."""

    endpoint: str
    sts_endpoint: str
    sts: SecurityTokenService


@contextmanager
def guarded_oss(*buckets: str, keys: dict[str, AccessKey], role: str) -> Iterator[GuardedOss]:
    """Run both; who has one of the keys owns all."""
    store = GuardedStore(buckets)
    service = OssService(store, keys)
    sts = SecurityTokenService(store, service.keys, role)
    refusals = {401: answers.error(403, "InvalidAccessKeyId"), 403: answers.error(403, "AccessDenied")}
    with serving(guarded(service, store, _who, refusals.__getitem__)) as endpoint, serving(sts) as sts_endpoint:
        yield GuardedOss(endpoint, sts_endpoint, sts)


def _who(request: Request) -> str:
    found = re.match(r"OSS ([^:]+):", request.header("Authorization") or "")
    return found.group(1) if found else ""


def _error(status: int, code: str, message: str = "") -> Answer:
    return _json(status, {"Code": code, "Message": message, "RequestId": "0", "HostId": "127.0.0.1"})


def _json(status: int, body: dict[str, Any]) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})

"""A moto that lets nobody in without leave: users and roles have policies, and sessions have theirs.

moto checks signatures and the policies of users and roles by itself, once it is told to. It keeps the policy with which
a role was assumed, and until when, and looks at them no more: that is done here, by the rules of AWS's documentation.
By these, too, a session that may list only a part of the bucket is not told that a key is missing: the request is
refused.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import unescape

import pytest
from botocore.session import get_session  # type: ignore[import-untyped]
from moto import settings
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.utils import utcnow
from moto.iam.access_control import AssumedRoleAccessKey, IAMRequestBase
from moto.s3.exceptions import BucketAccessDeniedError, MissingKey, S3ClientError
from moto.s3.responses import S3Response
from moto.server import ThreadedMotoServer
from moto.sts.models import AssumedRole, STSBackend, sts_backends

from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NOT_FOUND = 404


@contextmanager
def moto_server() -> Iterator[str]:
    """Run all of moto at one address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def client(service: str, endpoint: str) -> Any:
    """A client of one of moto's services, for before it is strict."""
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "hush"}
    return get_session().create_client(service, region_name="us-east-1", endpoint_url=endpoint, **keys)


def vending_catalog(endpoint: str, bucket: str) -> dict[str, str]:
    """Properties of a catalog that vends: a bucket, a user for the catalog, and a role that it may assume."""
    client("s3", endpoint).create_bucket(Bucket=bucket)
    iam = client("iam", endpoint)
    user = iam.create_user(UserName=bucket)["User"]["Arn"]
    iam.put_user_policy(UserName=bucket, PolicyName="s3", PolicyDocument=_allow("s3:*", "sts:AssumeRole"))
    trust = {
        "Effect": "Allow",
        "Principal": {"AWS": user},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"sts:ExternalId": "known"}},
    }
    role = iam.create_role(
        RoleName=f"{bucket}-tables",
        AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
    )
    iam.put_role_policy(RoleName=f"{bucket}-tables", PolicyName="s3", PolicyDocument=_allow("s3:*"))
    key = iam.create_access_key(UserName=bucket)["AccessKey"]
    return {
        "root": f"s3://{bucket}/root",
        "storage.endpoint": endpoint,
        "storage.region": "us-east-1",
        "storage.access_key_id": key["AccessKeyId"],
        "storage.secret_access_key": key["SecretAccessKey"],
        "credential_vendor.enabled": "true",
        "credential_vendor.aws_role_arn": role["Role"]["Arn"],
        "credential_vendor.aws_external_id": "known",
        "credential_vendor.aws_sts_endpoint": endpoint,
    }


def _allow(*actions: str) -> str:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@contextmanager
def enforced() -> Iterator[None]:
    """Check every request while this lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IAMRequestBase, "check_action_permitted", _checking(IAMRequestBase.check_action_permitted))
        patch.setattr(S3Response, "_key_response", _without_hints(S3Response._key_response))
        patch.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0)
        patch.setattr(ActionAuthenticatorMixin, "request_count", 0)
        yield


@contextmanager
def short_sessions(seconds: float) -> Iterator[None]:
    """As long as this lasts, a role is assumed for no more than these few seconds: AWS grants no less than 900."""
    assume_role = STSBackend.assume_role

    def assume(self: STSBackend, **asked: Any) -> AssumedRole:
        return assume_role(self, **{**asked, "duration": seconds})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(STSBackend, "assume_role", assume)
        yield


@dataclass
class Lingering:
    """What became of the requests of sessions, by their keys."""

    waited: list[str] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    """Refused, as the session was over when they came."""


@contextmanager
def lingering(action: str, part: str, times: int) -> Iterator[Lingering]:
    """So many answers to sessions take until the credentials have expired: S3 looks at them when a request begins."""
    check, lock, seen = IAMRequestBase.check_action_permitted, threading.Lock(), Lingering()

    def check_slowly(self: Any, resource: str) -> None:
        try:
            check(self, resource)
        except _ExpiredTokenError:
            seen.expired.append(self._access_key._access_key_id)
            raise
        with lock:
            is_met = self._action == action and part in resource and isinstance(self._access_key, AssumedRoleAccessKey)
            if not is_met or len(seen.waited) == times:
                return
            seen.waited.append(self._access_key._access_key_id)
        until(lambda: _session(self).expiration, lambda expiration: expiration <= utcnow())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IAMRequestBase, "check_action_permitted", check_slowly)
        yield seen


class _ExpiredTokenError(S3ClientError):
    code = 400  # type: ignore[assignment] # as moto has it, too

    def __init__(self) -> None:
        super().__init__("ExpiredToken", "The provided token has expired.")


def _checking(check: Callable[..., None]) -> Callable[..., None]:
    """The check of a user's or role's policy, and that of the session's; of a batch of deletes, each is checked."""

    def check_both(self: Any, resource: str) -> None:
        for each in _resources(self, resource):
            check(self, each)
            if isinstance(self._access_key, AssumedRoleAccessKey):
                _check_session(self, each)

    return check_both


def _resources(request: Any, resource: str) -> list[str]:
    """What a request is about; to moto, a batch of deletes is about the bucket."""
    if request._action != "s3:DeleteObject" or "/" in resource:
        return [resource]
    return [f"{resource}/{unescape(key)}" for key in re.findall(r"<Key>(.*?)</Key>", request._body.decode(), re.DOTALL)]


def _without_hints(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The answers to requests for keys, of which a session does not learn that there is none."""

    def hiding(self: Any, *arguments: Any) -> Any:
        if "X-Amz-Security-Token" not in self.headers:
            return answer(self, *arguments)
        try:
            found = answer(self, *arguments)
        except MissingKey:
            raise BucketAccessDeniedError(self.bucket_name) from None
        return (403, {}, "") if isinstance(found, tuple) and found[0] == _NOT_FOUND else found

    return hiding


def session_policies() -> list[dict[str, Any]]:
    """The policies of all sessions, the latest last."""
    roles = sts_backends["123456789012"]["aws"].assumed_roles
    return [json.loads(role.policy) for role in roles]


def _session(request: Any) -> AssumedRole:
    key = request._access_key
    roles = sts_backends[key.account_id][key.partition].assumed_roles
    return next(role for role in roles if role.access_key_id == key._access_key_id)


def _check_session(request: Any, resource: str) -> None:
    role = _session(request)
    if role.expiration <= utcnow():
        raise _ExpiredTokenError
    context = {"s3:prefix": parse_qs(urlsplit(request._path).query).get("prefix", [""])[0]}
    statements = json.loads(role.policy)["Statement"]
    if not any(_permits(statement, request._action, resource, context) for statement in statements):
        request._raise_access_denied()


def _permits(statement: dict[str, Any], action: str, resource: str, context: dict[str, str]) -> bool:
    conditions = statement.get("Condition", {}).get("StringLike", {})
    return (
        any(_matches(pattern, action) for pattern in _listed(statement["Action"]))
        and any(_matches(pattern, resource) for pattern in _listed(statement["Resource"]))
        and all(key in context and _matches(pattern, context[key]) for key, pattern in conditions.items())
    )


def _listed(one_or_many: str | list[str]) -> list[str]:
    return [one_or_many] if isinstance(one_or_many, str) else one_or_many


def _matches(pattern: str, text: str) -> bool:
    """AWS's patterns: ``*`` and ``?`` are wildcards, ``${*}`` is a star."""
    pieces = re.findall(r"\$\{([*?$])\}|(\*)|(\?)|(.)", pattern, re.DOTALL)
    regex = "".join(
        re.escape(literal or other) if literal or other else ".*" if star else "." for literal, star, _, other in pieces
    )
    return re.fullmatch(regex, text, re.DOTALL) is not None

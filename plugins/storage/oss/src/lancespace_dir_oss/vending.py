"""Temporary credentials for one table: a role that is assumed with a policy for the table's prefix only."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.authoring import Property, check_life, split_location
from lancespace_dir_oss.options import OPTIONS
from lancespace_dir_oss.sts import call

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "credential_vendor.oss_"
_DURATION = f"{_PREFIX}duration_millis"

PROPERTIES = (
    Property(f"{_PREFIX}role_arn", "Role that is assumed; its own policy bounds what can be vended", required=True),
    Property(f"{_PREFIX}external_id", "External id that the role's trust policy asks for"),
    Property(f"{_PREFIX}role_session_name", "Name of the sessions in Alibaba's logs", default="lancespace"),
    Property(_DURATION, "How long they live: 15 minutes to 12 hours", type=int, default=3_600_000),
    Property(f"{_PREFIX}sts_endpoint", "URL of STS", default="https://sts.aliyuncs.com"),
)

_READ = ("oss:GetObject",)
_WRITE = (*_READ, "oss:PutObject", "oss:AbortMultipartUpload", "oss:ListParts")
_ACTIONS = {"read": _READ, "write": _WRITE, "admin": (*_WRITE, "oss:DeleteObject")}


def assume_role(
    location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
) -> tuple[dict[str, str], float]:
    """Credentials for what is below a location, and when they expire."""
    bucket, prefix = split_location(location)
    key, token = _own_key(options)
    life = check_life(_DURATION, settings[_DURATION], timedelta(minutes=15), timedelta(hours=12))
    parameters = {
        "Action": "AssumeRole",
        "RoleArn": settings[f"{_PREFIX}role_arn"],
        "RoleSessionName": settings[f"{_PREFIX}role_session_name"],
        "DurationSeconds": str(int(life.total_seconds())),
        "ExternalId": settings[f"{_PREFIX}external_id"],
        "Policy": json.dumps(session_policy(bucket, prefix, permission), separators=(",", ":")),
        "SecurityToken": token,
    }
    given = {name: value for name, value in parameters.items() if value is not None}
    answer = call(settings[f"{_PREFIX}sts_endpoint"], key, given)["Credentials"]
    expires_at = datetime.strptime(answer["Expiration"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    credentials = {
        "oss_access_key_id": answer["AccessKeyId"],
        "oss_secret_access_key": answer["AccessKeySecret"],
        "oss_security_token": answer["SecurityToken"],
    }
    return credentials, expires_at.timestamp()


def session_policy(bucket: str, prefix: str, permission: str) -> dict[str, Any]:
    """A policy for what is below a prefix; the session can do what both it and the role's own policy allow."""
    if any(wildcard in prefix for wildcard in "*?"):
        raise InvalidInputError(f"OSS would take {prefix!r} for a pattern: no credentials are vended for such a name.")
    name = f"acs:oss:*:*:{bucket}"
    listing = {
        "Effect": "Allow",
        "Action": ["oss:ListObjects"],
        "Resource": [name],
        "Condition": {"StringLike": {"oss:Prefix": [f"{prefix}/*"]}},
    }
    objects = {"Effect": "Allow", "Action": list(_ACTIONS[permission]), "Resource": [f"{name}/{prefix}/*"]}
    return {"Version": "1", "Statement": [objects, listing]}


def _own_key(options: Mapping[str, str]) -> tuple[tuple[str, str], str | None]:
    """The catalog's own access key, and the token that goes with a temporary one."""
    own = OPTIONS.resolve(options)
    if "access_key_id" not in own:
        raise InvalidInputError("OSS storage: without credentials of its own the catalog can vend none.")
    return (own["access_key_id"], own["access_key_secret"]), own.get("security_token")

"""Temporary credentials for one table: a role that is assumed with a policy for the table's prefix only."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.authoring import Property, check_life, split_location
from lancespace_dir_aws.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "credential_vendor.aws_"
_DURATION = f"{_PREFIX}duration_millis"

PROPERTIES = (
    Property(f"{_PREFIX}role_arn", "Role that is assumed; its own policy bounds what can be vended", required=True),
    Property(f"{_PREFIX}external_id", "External id that the role's trust policy asks for"),
    Property(f"{_PREFIX}role_session_name", "Name of the sessions in AWS's logs", default="lancespace"),
    Property(_DURATION, "How long they live: 15 minutes to 12 hours", type=int, default=3_600_000),
    Property(f"{_PREFIX}region", "Region whose STS is asked; the store's if not given"),
    Property(f"{_PREFIX}sts_endpoint", "URL of STS, for a store that is not AWS's; AWS_ENDPOINT_URL_STS does too"),
)

_READ = ("s3:GetObject",)
_WRITE = (*_READ, "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
_ADMIN = (*_WRITE, "s3:DeleteObject")
_ACTIONS = {"read": _READ, "write": _WRITE, "admin": _ADMIN}
_KEYS = {"read": ("kms:Decrypt",), "write": ("kms:Decrypt", "kms:GenerateDataKey")}


def assume_role(
    location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
) -> tuple[dict[str, str], float]:
    """Credentials for what is below a location, and when they expire."""
    bucket, prefix = split_location(location)
    _refuse_directory_bucket(bucket)
    life = check_life(_DURATION, settings[_DURATION], timedelta(minutes=15), timedelta(hours=12))
    role: str = settings[f"{_PREFIX}role_arn"]
    external_id = settings[f"{_PREFIX}external_id"]
    answer = _sts(options, settings).assume_role(
        RoleArn=role,
        RoleSessionName=settings[f"{_PREFIX}role_session_name"],
        DurationSeconds=int(life.total_seconds()),
        Policy=json.dumps(session_policy(bucket, prefix, permission, _partition(role)), separators=(",", ":")),
        **({"ExternalId": external_id} if external_id else {}),
    )["Credentials"]
    credentials = {
        "aws_access_key_id": answer["AccessKeyId"],
        "aws_secret_access_key": answer["SecretAccessKey"],
        "aws_session_token": answer["SessionToken"],
    }
    return credentials, answer["Expiration"].timestamp()


def session_policy(bucket: str, prefix: str, permission: str, partition: str = "aws") -> dict[str, Any]:
    """A policy for what is below a prefix; the session can do what both it and the role's own policy allow."""
    name = f"arn:{partition}:s3:::{bucket}"
    below = f"{_literal(prefix)}/*"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": list(_ACTIONS[permission]), "Resource": f"{name}/{below}"},
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": name,
                "Condition": {"StringLike": {"s3:prefix": below}},
            },
            {"Effect": "Allow", "Action": "s3:GetBucketLocation", "Resource": name},
            # S3 asks for the objects' keys in the session's name: what it may not read, it cannot decrypt this way.
            {
                "Effect": "Allow",
                "Action": list(_KEYS.get(permission, _KEYS["write"])),
                "Resource": "*",
                "Condition": {"StringLike": {"kms:ViaService": "s3.*"}},
            },
        ],
    }


def _literal(prefix: str) -> str:
    """A prefix in which nothing is a wildcard or a variable of the policy language."""
    return re.sub(r"[*?]|\$(?={)", lambda special: f"${{{special[0]}}}", prefix)


def _sts(options: Mapping[str, str], settings: Mapping[str, Any]) -> Any:
    """A client of STS, with the catalog's own credentials: those that are given, or AWS's chain."""
    from botocore.config import Config  # type: ignore[import-untyped]
    from botocore.session import get_session  # type: ignore[import-untyped]

    given = OPTIONS.for_fsspec(options)
    config = {name: value for name, value in given.get("config_kwargs", {}).items() if name != "s3"}
    config.setdefault("retries", {})["mode"] = "standard"
    return get_session().create_client(
        "sts",
        region_name=settings[f"{_PREFIX}region"] or given.get("client_kwargs", {}).get("region_name"),
        endpoint_url=settings[f"{_PREFIX}sts_endpoint"],
        verify=given.get("client_kwargs", {}).get("verify"),
        aws_access_key_id=given.get("key"),
        aws_secret_access_key=given.get("secret"),
        aws_session_token=given.get("token"),
        config=Config(**config),
    )


def _refuse_directory_bucket(bucket: str) -> None:
    if bucket.endswith("--x-s3"):
        raise InvalidInputError(
            f"The credentials of a directory bucket ({bucket!r}) open all of it: it vends none for one table."
        )


def _partition(role: str) -> str:
    """AWS in China and for governments names its resources differently; other stores keep the names of AWS."""
    partition = role.split(":")[1] if role.count(":") > 1 else ""
    return partition if partition.startswith("aws") else "aws"

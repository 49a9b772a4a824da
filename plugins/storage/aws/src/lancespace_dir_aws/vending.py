"""Temporary credentials for one table: a role that is assumed with a policy for the table's prefix only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.properties import Property
from lancespace.storage import Credentials
from lancespace.storage.vending import split_location
from lancespace_dir_aws.options import OPTIONS
from lancespace_dir_aws.policies import session_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "credential_vendor.aws_"
_LEAST_SECONDS, _MOST_SECONDS = 15 * 60, 12 * 60 * 60

PROPERTIES = (
    Property(f"{_PREFIX}role_arn", "Role that is assumed; its own policy bounds what can be vended", required=True),
    Property(f"{_PREFIX}external_id", "External id that the role's trust policy asks for"),
    Property(f"{_PREFIX}role_session_name", "Name of the sessions in AWS's logs", default="lancespace"),
    Property(f"{_PREFIX}duration_millis", "How long they live: 15 minutes to 12 hours", type=int, default=3_600_000),
    Property(f"{_PREFIX}region", "Region whose STS is asked; the store's if not given"),
    Property(f"{_PREFIX}sts_endpoint", "URL of STS, for a store that is not AWS's; AWS_ENDPOINT_URL_STS does too"),
)

SHARED = frozenset(
    {
        "aws_region",
        "aws_endpoint",
        "aws_endpoint_url_s3",
        "allow_http",
        "aws_virtual_hosted_style_request",
        "aws_request_payer",
        "aws_server_side_encryption",
        "aws_sse_kms_key_id",
        "aws_sse_bucket_key_enabled",
        "aws_checksum_algorithm",
        "aws_unsigned_payload",
    }
)
"""Options of pylance that a client needs too, and that hold no secret."""


def assume_role(
    location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any], lance: Mapping[str, str]
) -> Credentials:
    """Credentials for what is below a location; ``lance`` are the catalog's own options for pylance."""
    bucket, prefix = split_location(location)
    _refuse_directory_bucket(bucket)
    role: str = settings[f"{_PREFIX}role_arn"]
    external_id = settings[f"{_PREFIX}external_id"]
    answer = _sts(options, settings).assume_role(
        RoleArn=role,
        RoleSessionName=settings[f"{_PREFIX}role_session_name"],
        DurationSeconds=_seconds(settings[f"{_PREFIX}duration_millis"]),
        Policy=json.dumps(session_policy(bucket, prefix, permission, _partition(role)), separators=(",", ":")),
        **({"ExternalId": external_id} if external_id else {}),
    )["Credentials"]
    return Credentials(
        {
            **{name: value for name, value in lance.items() if name in SHARED},
            "aws_access_key_id": answer["AccessKeyId"],
            "aws_secret_access_key": answer["SecretAccessKey"],
            "aws_session_token": answer["SessionToken"],
        },
        expires_at_millis=int(answer["Expiration"].timestamp() * 1000),
    )


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


def _seconds(millis: int) -> int:
    seconds = millis // 1000
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        raise InvalidInputError(
            f"{_PREFIX}duration_millis must be between {_LEAST_SECONDS * 1000} (15 minutes) and "
            f"{_MOST_SECONDS * 1000} (12 hours), not {millis}."
        )
    return seconds

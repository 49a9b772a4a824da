"""Every option of S3 storage: pylance's (object_store's) and s3fs's (botocore's) names for it, and users' for both."""

from __future__ import annotations

import base64
import binascii
from operator import not_

from lancespace.authoring import (
    ALLOW_HTTP,
    REFUSED,
    TUNING,
    Option,
    OptionTable,
    allow_http,
    boolean,
    duration,
    integer,
    url,
)


def _addressing_style(style: str) -> dict[str, str]:
    if style not in {"virtual", "path"}:
        raise ValueError("must be 'virtual' or 'path'")
    return {"virtual_hosted_style_request": str(style == "virtual").lower()}


def _payer(text: str) -> bool:
    return text.strip().lower() == "requester" or boolean(text)


def _conditional_put(text: str) -> str:
    if text.strip() != "etag":
        raise ValueError("must be 'etag': a catalog needs conditional writes")
    return "etag"


def _customer_key(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("must be written in base64") from None
    return text


def _with_customer_key(_key: str) -> dict[str, str]:
    return {"server_side_encryption": "sse-c", "sse_customer_algorithm": "AES256"}


_CREDENTIALS = (
    Option(
        "access_key_id",
        ("username",),
        lance="aws_access_key_id",
        fsspec="key",
        secret=True,
        environment=("AWS_ACCESS_KEY_ID",),
        needs=("secret_access_key",),
    ),
    Option(
        "secret_access_key",
        ("password",),
        lance="aws_secret_access_key",
        fsspec="secret",
        secret=True,
        environment=("AWS_SECRET_ACCESS_KEY",),
        needs=("access_key_id",),
    ),
    Option(
        "session_token",
        ("aws_token",),
        lance="aws_session_token",
        fsspec="token",
        secret=True,
        # pylance takes the short names for S3's, too.
        environment=("AWS_SESSION_TOKEN", "AWS_TOKEN", "SESSION_TOKEN", "TOKEN"),
        needs=("access_key_id", "secret_access_key"),
    ),
)

_PLACE = (
    Option(
        "skip_signature",
        lance="aws_skip_signature",
        fsspec="anon",
        type=boolean,
        environment=("AWS_SKIP_SIGNATURE",),
    ),
    Option(
        "region",
        ("aws_default_region", "default_region", "region_name"),
        lance="aws_region",
        shared=True,
        fsspec="client_kwargs.region_name",
        environment=("AWS_REGION", "AWS_DEFAULT_REGION", "REGION"),
    ),
    Option(
        "endpoint",
        ("aws_endpoint_url", "client_kwargs.endpoint_url"),
        # Of the two, pylance prefers the second, and finds it in the environment where it is not given.
        lance=("aws_endpoint", "aws_endpoint_url_s3"),
        shared=True,
        fsspec="endpoint_url",
        type=url,
        environment=("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "ENDPOINT_URL", "ENDPOINT"),
        implies=allow_http,
    ),
    Option(
        "virtual_hosted_style_request",
        lance="aws_virtual_hosted_style_request",
        shared=True,
        fsspec="config_kwargs.s3.addressing_style",
        type=boolean,
        fsspec_value=lambda virtual: "virtual" if virtual else "path",
        environment=("AWS_VIRTUAL_HOSTED_STYLE_REQUEST",),
    ),
    Option("addressing_style", ("config_kwargs.s3.addressing_style",), implies=_addressing_style),
    Option(
        "s3_express",
        ("aws_s3_express",),
        lance="s3_express",
        type=boolean,
        note="s3fs knows directory buckets by their names, as pylance does where it is not told.",
    ),
    Option(
        "request_payer",
        lance="aws_request_payer",
        shared=True,
        fsspec="requester_pays",
        type=_payer,
        environment=("AWS_REQUEST_PAYER",),
    ),
)

_ENCRYPTION = (
    Option(
        "server_side_encryption",
        lance="aws_server_side_encryption",
        shared=True,
        fsspec="s3_additional_kwargs.ServerSideEncryption",
        fsspec_value=lambda kind: None if kind == "sse-c" else kind,
        environment=("AWS_SERVER_SIDE_ENCRYPTION",),
    ),
    Option(
        "sse_kms_key_id",
        lance="aws_sse_kms_key_id",
        shared=True,
        fsspec="s3_additional_kwargs.SSEKMSKeyId",
        environment=("AWS_SSE_KMS_KEY_ID",),
        needs=("server_side_encryption",),
    ),
    Option(
        "sse_bucket_key_enabled",
        lance="aws_sse_bucket_key_enabled",
        shared=True,
        fsspec="s3_additional_kwargs.BucketKeyEnabled",
        type=boolean,
        environment=("AWS_SSE_BUCKET_KEY_ENABLED",),
        needs=("server_side_encryption",),
    ),
    Option(
        "sse_customer_key_base64",
        lance="aws_sse_customer_key_base64",
        fsspec="s3_additional_kwargs.SSECustomerKey",
        type=_customer_key,
        fsspec_value=base64.b64decode,
        secret=True,
        environment=("AWS_SSE_CUSTOMER_KEY_BASE64",),
        implies=_with_customer_key,
    ),
    Option(
        "sse_customer_algorithm",
        fsspec="s3_additional_kwargs.SSECustomerAlgorithm",
        note="pylance knows only AES256 and is not asked.",
    ),
    Option(
        "checksum_algorithm",
        lance="aws_checksum_algorithm",
        shared=True,
        fsspec="s3_additional_kwargs.ChecksumAlgorithm",
        type=str.lower,
        fsspec_value=str.upper,
    ),
    Option(
        "unsigned_payload",
        lance="aws_unsigned_payload",
        shared=True,
        fsspec="config_kwargs.s3.payload_signing_enabled",
        type=boolean,
        fsspec_value=not_,
    ),
)

_CLIENT = (
    ALLOW_HTTP,
    Option(
        "allow_invalid_certificates",
        lance="allow_invalid_certificates",
        fsspec="client_kwargs.verify",
        type=boolean,
        fsspec_value=not_,
    ),
    Option("connect_timeout", lance="connect_timeout", fsspec="config_kwargs.connect_timeout", type=duration),
    Option("read_timeout", lance="read_timeout", fsspec="config_kwargs.read_timeout", type=duration),
    Option(
        "timeout",
        ("request_timeout",),
        lance="timeout",
        type=duration,
        note="botocore bounds the connecting and each read, but no request as a whole.",
    ),
    Option(
        "client_max_retries",
        ("max_retries",),
        lance="client_max_retries",
        fsspec="config_kwargs.retries.max_attempts",
        type=integer,
    ),
    Option(
        "proxy_url",
        lance="proxy_url",
        fsspec="config_kwargs.proxies",
        fsspec_value=lambda proxy: {"http": proxy, "https": proxy},
    ),
    Option("user_agent", lance="user_agent", fsspec="config_kwargs.user_agent"),
    Option(
        "max_pool_connections",
        fsspec="config_kwargs.max_pool_connections",
        type=integer,
        note="pylance opens as many connections as it needs; pool_max_idle_per_host says how many it keeps.",
    ),
    Option(
        "max_concurrency",
        fsspec="max_concurrency",
        type=integer,
        note="Bounds the parts of one file that s3fs moves at once; pylance has its own scheduler.",
    ),
    Option(
        "conditional_put",
        lance="aws_conditional_put",
        type=_conditional_put,
        note="s3fs writes on a condition whenever it is asked to.",
    ),
    Option("copy_if_not_exists", lance="aws_copy_if_not_exists", note="Only pylance copies on a condition."),
    Option("disable_tagging", lance="aws_disable_tagging", type=boolean, note="s3fs tags nothing unless asked."),
    Option(
        "disable_bulk_delete",
        lance="aws_disable_bulk_delete",
        type=boolean,
        note="s3fs deletes in bulk only, and says so if the store does not.",
    ),
    *TUNING,
)

_VARIABLE = "is not taken, as pylance knows it only from the environment: set {} there, which s3fs obeys too"
_VARIABLES = {
    "profile": "AWS_PROFILE",
    "role_arn": "AWS_ROLE_ARN",
    "role_session_name": "AWS_ROLE_SESSION_NAME",
    "web_identity_token_file": "AWS_WEB_IDENTITY_TOKEN_FILE",
    "endpoint_url_sts": "AWS_ENDPOINT_URL_STS",
    "container_credentials_relative_uri": "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "container_credentials_full_uri": "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "container_authorization_token_file": "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "metadata_endpoint": "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "imdsv1_fallback": "AWS_EC2_METADATA_V1_DISABLED",
}

_REFUSED = (
    *REFUSED,
    Option(
        "bucket",
        ("bucket_name", "aws_bucket", "aws_bucket_name"),
        refused="is not taken: the location names it",
        harmless=True,
    ),
    Option("use_ssl", refused="is not taken: write https:// or http:// in 'endpoint'"),
    Option("verify", refused="is not taken: name your certificates in both SSL_CERT_FILE and AWS_CA_BUNDLE"),
    Option(
        "dynamodb_endpoint",
        refused="is not taken: S3 writes on a condition, so commits need no DynamoDB",
        harmless=True,
    ),
    Option(
        "provider_scheme", ("aws_provider_scheme",), refused="is not taken: s3fs cannot be told whom to ask for keys"
    ),
    *(Option(name, (f"aws_{name}",), refused=_VARIABLE.format(variable)) for name, variable in _VARIABLES.items()),
)

OPTIONS = OptionTable("S3", (*_PLACE, *_ENCRYPTION, *_CLIENT, *_REFUSED), credentials=_CREDENTIALS)

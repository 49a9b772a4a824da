"""Every option of OSS storage: pylance's (OpenDAL's) and ossfs's names for it, and users' for both."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from lancespace.authoring import REFRESH_OFFSET, Option, OptionTable, boolean, integer, url

_STYLES = ("virtual", "path", "cname")


def _endpoint(text: str) -> str:
    """Alibaba writes endpoints without a scheme; pylance would then speak HTTPS and ossfs HTTP."""
    return url(text if "://" in text else f"https://{text}")


def _by_address(endpoint: str) -> dict[str, str]:
    """An address has no subdomain for the bucket: oss2 knows that, OpenDAL has to be told."""
    try:
        ipaddress.ip_address(urlsplit(endpoint).hostname or "")
    except ValueError:
        return {}
    return {"addressing_style": "path"}


def _style(text: str) -> str:
    if text not in _STYLES:
        raise ValueError(f"must be one of {', '.join(map(repr, _STYLES))}")
    return text


_CREDENTIALS = (
    Option(
        "access_key_id",
        ("alibaba_cloud_access_key_id",),
        lance="oss_access_key_id",
        fsspec="key",
        secret=True,
        environment=("OSS_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_ID"),
        needs=("access_key_secret",),
    ),
    Option(
        "access_key_secret",
        ("secret_access_key", "oss_access_key_secret", "alibaba_cloud_access_key_secret"),
        lance="oss_secret_access_key",
        fsspec="secret",
        secret=True,
        environment=("OSS_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"),
        needs=("access_key_id",),
    ),
    Option(
        "security_token",
        ("session_token", "oss_session_token", "alibaba_cloud_security_token"),
        lance="oss_security_token",
        fsspec="token",
        secret=True,
        environment=("OSS_SECURITY_TOKEN", "ALIBABA_CLOUD_SECURITY_TOKEN", "AWS_SECURITY_TOKEN"),
        needs=("access_key_id", "access_key_secret"),
    ),
)

_PLACE = (
    Option(
        "skip_signature",
        ("anon", "allow_anonymous", "oss_skip_signature"),
        lance="skip_signature",
        fsspec="anonymous",
        type=boolean,
        environment=("OSS_SKIP_SIGNATURE",),
    ),
    Option(
        "endpoint",
        ("endpoint_url", "alibaba_cloud_endpoint"),
        lance="oss_endpoint",
        shared=True,
        fsspec="endpoint",
        type=_endpoint,
        environment=("OSS_ENDPOINT", "ALIBABA_CLOUD_ENDPOINT"),
        implies=_by_address,
    ),
    Option(
        "addressing_style",
        ("oss_addressing_style",),
        lance="addressing_style",
        shared=True,
        fsspec="addressing_style",
        type=_style,
        environment=("OSS_ADDRESSING_STYLE",),
    ),
    Option(
        "region",
        ("oss_default_region",),
        lance="oss_region",
        shared=True,
        note="ossfs signs without a region; its endpoint says where it is.",
        environment=("OSS_REGION", "ALIBABA_CLOUD_REGION"),
    ),
    Option(
        "download_retry_count",
        lance="download_retry_count",
        type=integer,
        note="ossfs tries three times and cannot be told otherwise.",
    ),
    REFRESH_OFFSET,
)

_ROLE = "is not taken, as ossfs cannot assume roles: assume it yourself and give the three temporary credentials"
_ENCRYPTION = "is not taken, as ossfs would write unencrypted beside it: make it the bucket's default encryption"

_CLIENT = "is not taken, as neither pylance nor ossfs can be told for OSS: both keep to their own measure"
_PROXY = "is not taken, as ossfs cannot be told: set HTTPS_PROXY and NO_PROXY in the environment, which both obey"

_REFUSED = (
    Option("proxy_url", ("proxy_excludes",), refused=_PROXY),
    Option("timeout", ("request_timeout", "connect_timeout", "read_timeout"), refused=_CLIENT, harmless=True),
    Option("client_max_retries", ("max_retries", "client_retry_timeout"), refused=_CLIENT, harmless=True),
    Option("bucket", ("oss_bucket",), refused="is not taken: the location names it", harmless=True),
    Option("root", refused="is not taken: the location has the path", harmless=True),
    *(
        Option(name, (f"alibaba_cloud_{name}",), refused=_ROLE)
        for name in (
            "role_arn",
            "role_session_name",
            "external_id",
            "oidc_provider_arn",
            "oidc_token_file",
            "sts_endpoint",
        )
    ),
    Option("server_side_encryption", ("server_side_encryption_key_id",), refused=_ENCRYPTION),
)

OPTIONS = OptionTable("OSS", (*_PLACE, *_REFUSED), credentials=_CREDENTIALS)

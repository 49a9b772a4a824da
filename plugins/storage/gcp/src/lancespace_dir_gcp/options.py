"""Every option of Google Cloud Storage: pylance's (object_store's) and gcsfs's names for it, and users' for both."""

from __future__ import annotations

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
from lancespace_dir_gcp import credentials


def _token(token: str) -> dict[str, str]:
    """What gcsfs calls a token can be many things, each of which pylance knows by a name of its own."""
    if token == "anon":  # noqa: S105 - one of gcsfs's words, not a secret
        return {"skip_signature": "true"}
    if token == "google_default":  # noqa: S105 - as above
        return {}
    if token in {"cache", "cloud", "browser"}:
        raise ValueError("must be 'anon', 'google_default', a token or a credentials file: pylance knows no other way")
    if token.lstrip().startswith("{"):
        return {"service_account_key": token}
    return {"application_credentials" if token.endswith(".json") else "storage_token": token}


def _emulator(host: str) -> dict[str, str]:
    return {"base_url": host if "://" in host else f"http://{host}"}


_CREDENTIALS = (
    Option(
        "service_account",
        ("service_account_path", "google_service_account_path"),
        lance="google_service_account",
        fsspec="token",
        fsspec_value=credentials.from_file,
        environment=("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
    ),
    Option(
        "service_account_key",
        lance="google_service_account_key",
        fsspec="token",
        fsspec_value=credentials.from_json,
        secret=True,
        environment=("GOOGLE_SERVICE_ACCOUNT_KEY",),
    ),
    # GOOGLE_APPLICATION_CREDENTIALS needs no mention: for both, it is where the default credentials are.
    Option(
        "application_credentials",
        lance="google_application_credentials",
        fsspec="token",
        fsspec_value=credentials.from_file,
    ),
    Option(
        "storage_token",
        ("bearer_token", "google_bearer_token"),
        lance="google_storage_token",
        fsspec="token",
        fsspec_value=credentials.from_token,
        secret=True,
        environment=("GOOGLE_STORAGE_TOKEN", "GOOGLE_BEARER_TOKEN"),
    ),
)

_PLACE = (
    Option("token", implies=_token, secret=True),
    Option(
        "skip_signature",
        ("anon",),
        lance="google_skip_signature",
        fsspec="token",
        type=boolean,
        fsspec_value=lambda skip: "anon" if skip else None,
        environment=("GOOGLE_SKIP_SIGNATURE",),
    ),
    Option(
        "base_url",
        ("endpoint",),
        lance="google_base_url",
        shared=True,
        fsspec="endpoint_url",
        type=url,
        environment=("GOOGLE_BASE_URL",),
        implies=allow_http,
    ),
    Option("storage_emulator_host", environment=("STORAGE_EMULATOR_HOST",), implies=_emulator),
    Option(
        "project",
        ("project_id", "google_project_id", "google_cloud_project"),
        fsspec="project",
        note="Only gcsfs asks which project new buckets belong to; a bucket that exists knows.",
    ),
)

_CLIENT = (
    ALLOW_HTTP,
    Option(
        "timeout",
        ("request_timeout",),
        lance="timeout",
        fsspec="requests_timeout",
        type=duration,
    ),
    Option("connect_timeout", lance="connect_timeout", type=duration, note="gcsfs bounds a request only as a whole."),
    Option("read_timeout", lance="read_timeout", type=duration, note="gcsfs bounds a request only as a whole."),
    Option(
        "client_max_retries",
        ("max_retries",),
        lance="client_max_retries",
        type=integer,
        note="gcsfs tries six times and cannot be told otherwise.",
    ),
    Option("proxy_url", lance="proxy_url", fsspec="session_kwargs.proxy"),
    Option("user_agent", lance="user_agent", note="gcsfs always gives its own name."),
    *TUNING,
)

_REFUSED = (
    *REFUSED,
    Option(
        "bucket", ("bucket_name", "google_bucket", "google_bucket_name"), refused="is not taken: the location names it"
    ),
    Option(
        "requester_pays", refused="is not taken, as pylance cannot pay for requests: copy the data to a bucket of yours"
    ),
    Option(
        "allow_invalid_certificates",
        refused="is not taken, as gcsfs always checks: name those to trust in SSL_CERT_FILE, which both obey",
    ),
)

OPTIONS = OptionTable("GCS", (*_PLACE, *_CLIENT, *_REFUSED), credentials=_CREDENTIALS)

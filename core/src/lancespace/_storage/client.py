"""Options of pylance's HTTP client, which it has in common for S3, Google Cloud Storage and Azure."""

from __future__ import annotations

from lancespace._storage.options import Option
from lancespace._storage.values import boolean, duration, integer

_TUNING = "Tunes pylance's own client and decides nothing about what is stored; fsspec's client has its own measure."

REFRESH_OFFSET = Option(
    "refresh_offset_millis",
    lance="refresh_offset_millis",
    type=integer,
    note="Tells pylance how long before they expire vended credentials are renewed; fsspec gets none that are vended.",
)

TUNING = (
    Option("client_retry_timeout", lance="client_retry_timeout", type=integer, note=_TUNING),
    Option("download_retry_count", lance="download_retry_count", type=integer, note=_TUNING),
    Option("default_content_type", lance="default_content_type", note=_TUNING),
    Option("http1_only", lance="http1_only", type=boolean, note=_TUNING),
    Option("http2_only", lance="http2_only", type=boolean, note=_TUNING),
    Option("http2_keep_alive_interval", lance="http2_keep_alive_interval", type=duration, note=_TUNING),
    Option("http2_keep_alive_timeout", lance="http2_keep_alive_timeout", type=duration, note=_TUNING),
    Option("http2_keep_alive_while_idle", lance="http2_keep_alive_while_idle", type=boolean, note=_TUNING),
    Option("http2_max_frame_size", lance="http2_max_frame_size", type=integer, note=_TUNING),
    Option("pool_idle_timeout", lance="pool_idle_timeout", type=duration, note=_TUNING),
    Option("pool_max_idle_per_host", lance="pool_max_idle_per_host", type=integer, note=_TUNING),
    REFRESH_OFFSET,
    Option("randomize_addresses", lance="randomize_addresses", type=boolean, note=_TUNING),
    *(
        Option(f"lance_aimd_{name}", lance=f"lance_aimd_{name}", note=_TUNING)
        for name in (
            "initial_rate",
            "min_rate",
            "max_rate",
            "decrease_factor",
            "additive_increment",
            "burst_capacity",
            "max_retries",
            "min_backoff_ms",
            "max_backoff_ms",
        )
    ),
)
"""How pylance connects, retries and slows down."""

_CERTIFICATES = (
    "is not taken, as fsspec knows no such setting: name the certificates to trust in SSL_CERT_FILE, "
    "and for S3 also in AWS_CA_BUNDLE"
)
_PROXY = (
    "is not taken, as fsspec knows no such setting: set HTTPS_PROXY and NO_PROXY in the environment, which both obey"
)

REFUSED = (
    Option("proxy_excludes", refused=_PROXY),
    Option("proxy_ca_certificate", refused=_CERTIFICATES),
    Option("disable_system_certificates", refused=_CERTIFICATES),
    Option("use_opendal", refused="is not taken: pylance reads other options then, and none of this table reaches it"),
)
"""What pylance's client knows and fsspec's cannot do alike."""


def allow_http(endpoint: str) -> dict[str, str]:
    """An endpoint that is written ``http://`` is meant: pylance wants to be told again, fsspec does not."""
    return {"allow_http": "true"} if endpoint.startswith("http://") else {}


ALLOW_HTTP = Option(
    "allow_http",
    lance="allow_http",
    type=boolean,
    shared=True,
    note="Only pylance asks before it speaks plain HTTP to an endpoint.",
)

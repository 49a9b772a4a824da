"""OSS's signature, version 1: HMAC-SHA1 over what the request says, as the service's documentation has it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field

from tests.emulators.loopback import Request

_SIGNED_PARAMETERS = frozenset(
    {"bucketInfo", "continuation-token", "delete", "objectMeta", "partNumber", "security-token", "uploadId", "uploads"}
)
"""Of the parameters that are signed, those that our clients send."""


@dataclass(frozen=True)
class AccessKey:
    """What a key is worth: its secret, and for a temporary one the token that goes with it."""

    secret: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)


def is_signed(request: Request, keys: dict[str, AccessKey]) -> bool:
    """Whether the request was signed by somebody who has one of the keys."""
    found = re.fullmatch(r"OSS ([^:]+):(.+)", request.header("Authorization") or "")
    key = keys.get(found.group(1)) if found else None
    if found is None or key is None or request.header("x-oss-security-token") != key.security_token:
        return False
    return any(hmac.compare_digest(_sign(key.secret, text), found.group(2)) for text in _texts(request))


def _sign(secret: str, text: str) -> str:
    return base64.b64encode(hmac.new(secret.encode(), text.encode(), hashlib.sha1).digest()).decode()


def _texts(request: Request) -> list[str]:
    """What may be signed: with the bucket in the path, pylance signs a bucket without the slash behind it."""
    own = sorted((name.lower(), value) for name, value in request.headers.items() if name.lower().startswith("x-oss-"))
    lines = (
        request.method,
        request.header("Content-MD5") or "",
        request.header("Content-Type") or "",
        request.header("x-oss-date") or request.header("Date") or "",
        *(f"{name}:{value.strip()}" for name, value in own),
    )
    bucket, key = request.bucket_and_key()
    resources = [f"/{bucket}/{key}"] if key else [f"/{bucket}/", f"/{bucket}"]
    return ["\n".join((*lines, resource + _parameters(request))) for resource in resources]


def _parameters(request: Request) -> str:
    signed = sorted((name, value) for name, value in request.query.items() if name in _SIGNED_PARAMETERS)
    shown = "&".join(f"{name}={value}" if value else name for name, value in signed)
    return f"?{shown}" if shown else ""

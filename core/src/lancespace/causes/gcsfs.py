"""What gcsfs and google-auth raise where Google Cloud Storage fails; tried with gcsfs 2026.10.1, google-auth 2.62.2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lancespace.causes.table import (
    ACCESS_DENIED,
    BAD_CREDENTIALS,
    CLOCK_SKEW,
    NO_BUCKET,
    NO_CREDENTIALS,
    NO_HOST,
    THROTTLED,
    UNREACHABLE,
    UNTRUSTED,
)

if TYPE_CHECKING:
    from lancespace.causes.table import Cause

_ROWS = (
    (re.compile(r"^Forbidden: "), ACCESS_DENIED),
    (re.compile(r"^Invalid Credentials(, 401)?$"), BAD_CREDENTIALS),
    (re.compile(r"invalid_grant.*(Token must be a short-lived|iat|exp\b|clock)", re.DOTALL), CLOCK_SKEW),
    (re.compile(r"The specified bucket does not exist"), NO_BUCKET),
    (re.compile(r", 429$"), THROTTLED),
)
_UPLOAD = re.compile(r"/upload/storage/v1/b/[^/]+/o$")
"""An upload can only miss its bucket."""


def find(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of gcsfs tells, or None."""
    name, module = type(error).__name__, type(error).__module__
    if module.startswith("google.auth"):
        if name == "DefaultCredentialsError":
            return NO_CREDENTIALS
        if name == "TransportError":
            return NO_HOST if "NameResolutionError" in text else UNTRUSTED if "SSLError" in text else UNREACHABLE
        return next((cause for pattern, cause in _ROWS if pattern.search(text)), BAD_CREDENTIALS)
    if isinstance(error, FileNotFoundError) and _UPLOAD.search(text):
        return NO_BUCKET
    if isinstance(error, OSError) or module.startswith("gcsfs"):
        return next((cause for pattern, cause in _ROWS if pattern.search(text)), None)
    return None

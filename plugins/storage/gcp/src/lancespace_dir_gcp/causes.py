"""What gcsfs and google-auth raise where Google Cloud Storage fails; tried with gcsfs 2026.10.1, google-auth 2.62.2."""

from __future__ import annotations

import re

from lancespace.authoring import Cause

_ROWS = (
    (re.compile(r"^Forbidden: "), Cause.ACCESS_DENIED),
    (re.compile(r"^Invalid Credentials(, 401)?$"), Cause.BAD_CREDENTIALS),
    (re.compile(r"invalid_grant.*(Token must be a short-lived|iat|exp\b|clock)", re.DOTALL), Cause.CLOCK_SKEW),
    (re.compile(r"The specified bucket does not exist"), Cause.NO_BUCKET),
    (re.compile(r", 429$"), Cause.THROTTLED),
)
_UPLOAD = re.compile(r"/upload/storage/v1/b/[^/]+/o$")
"""An upload can only miss its bucket."""


def find_cause(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of gcsfs tells, or None."""
    name, module = type(error).__name__, type(error).__module__
    if module.startswith("google.auth"):
        if name == "DefaultCredentialsError":
            return Cause.NO_CREDENTIALS
        if name == "TransportError":
            return Cause.without_answer(text)
        return next((cause for pattern, cause in _ROWS if pattern.search(text)), Cause.BAD_CREDENTIALS)
    if isinstance(error, FileNotFoundError) and _UPLOAD.search(text):
        return Cause.NO_BUCKET
    if isinstance(error, OSError) or module.startswith("gcsfs"):
        return next((cause for pattern, cause in _ROWS if pattern.search(text)), None)
    return None

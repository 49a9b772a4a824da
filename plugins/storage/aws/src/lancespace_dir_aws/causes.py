"""What botocore and s3fs raise where S3 fails; tried with botocore 1.43.117 and s3fs 2026.9.0.

s3fs raises an ``OSError`` of its own choice, from botocore's error, which has the code.
"""

from __future__ import annotations

import re
import traceback
from typing import Any

from lancespace.authoring import Cause

_CLASSES = {
    "NoCredentialsError": Cause.NO_CREDENTIALS,
    "PartialCredentialsError": Cause.NO_CREDENTIALS,
    "CredentialRetrievalError": Cause.NO_CREDENTIALS,
    "EndpointConnectionError": Cause.UNREACHABLE,
    "ConnectTimeoutError": Cause.UNREACHABLE,
    "SSLError": Cause.UNTRUSTED,
}
_UNEXPLAINED = re.compile(r"An error occurred \((40[03])\) when calling the Head\w+ operation")
"""An answer to HEAD has no body, and so no code."""


def find_cause(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of botocore tells, or None."""
    if isinstance(error, RecursionError):
        return Cause.WRONG_REGION if _redirects_without_end(error) else None
    if "Invalid bucket name" in text:
        return Cause.NO_BUCKET  # It was not even asked for.
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):
        answer = response.get("Error", {})
        if found := Cause.of_answer(str(answer.get("Code", "")), str(answer.get("Message", ""))):
            return found
    if unexplained := _UNEXPLAINED.search(text):
        return Cause.ACCESS_DENIED if unexplained[1] == "403" else Cause.BAD_CREDENTIALS
    is_botocore = type(error).__module__.startswith(("botocore", "aiobotocore"))
    return _CLASSES.get(type(error).__name__) if is_botocore else None


def _redirects_without_end(error: RecursionError) -> bool:
    """Whether botocore asked for the bucket's region, was sent elsewhere without a region, asked for it, and so on."""
    return any(frame.f_code.co_name == "get_bucket_region" for frame, _ in traceback.walk_tb(error.__traceback__))

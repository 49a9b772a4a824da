"""What botocore and s3fs raise where S3 fails; tried with botocore 1.43.117 and s3fs 2026.9.0.

s3fs raises an ``OSError`` of its own choice, from botocore's error, which has the code.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lancespace.causes.table import (
    ACCESS_DENIED,
    BAD_CREDENTIALS,
    NO_BUCKET,
    NO_CREDENTIALS,
    UNREACHABLE,
    UNTRUSTED,
    WRONG_REGION,
    by_answer,
)

if TYPE_CHECKING:
    from lancespace.causes.table import Cause

_CLASSES = {
    "NoCredentialsError": NO_CREDENTIALS,
    "PartialCredentialsError": NO_CREDENTIALS,
    "CredentialRetrievalError": NO_CREDENTIALS,
    "EndpointConnectionError": UNREACHABLE,
    "ConnectTimeoutError": UNREACHABLE,
    "SSLError": UNTRUSTED,
}
_UNEXPLAINED = re.compile(r"An error occurred \((40[03])\) when calling the Head\w+ operation")
"""An answer to HEAD has no body, and so no code."""


def find(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of botocore tells, or None."""
    if isinstance(error, RecursionError):
        # The text of a RecursionError says nothing of the store.
        return replace(WRONG_REGION, says_all=True) if _redirects_without_end(error) else None
    if "Invalid bucket name" in text:
        return NO_BUCKET  # It was not even asked for.
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):
        answer = response.get("Error", {})
        if found := by_answer(str(answer.get("Code", "")), str(answer.get("Message", ""))):
            return found
    if unexplained := _UNEXPLAINED.search(text):
        return ACCESS_DENIED if unexplained[1] == "403" else BAD_CREDENTIALS
    return (
        _CLASSES.get(type(error).__name__) if type(error).__module__.startswith(("botocore", "aiobotocore")) else None
    )


def _redirects_without_end(error: RecursionError) -> bool:
    """Whether botocore asked for the bucket's region, was sent elsewhere without a region, asked for it, and so on."""
    return any(frame.f_code.co_name == "get_bucket_region" for frame, _ in traceback.walk_tb(error.__traceback__))

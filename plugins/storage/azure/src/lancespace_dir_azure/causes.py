"""What adlfs and Azure's SDK raise where Azure fails.

Tried with adlfs 2026.8.0, azure-core 1.41.0, azure-storage-blob 12.31.1 and azure-identity 1.27.0.
"""

from __future__ import annotations

import re

from lancespace.authoring import Cause

_CODE = re.compile(r"^ErrorCode:(\w+)$", re.MULTILINE)
_STATUSES = {401: Cause.BAD_CREDENTIALS, 403: Cause.ACCESS_DENIED}
"""An answer to HEAD has no body, and so no code."""


def find_cause(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of Azure's SDK tells, or None."""
    module, name = type(error).__module__, type(error).__name__
    if module.startswith("azure.identity") and name == "CredentialUnavailableError":
        return Cause.NO_CREDENTIALS
    if "DefaultAzureCredential failed to retrieve a token" in text:
        return Cause.NO_CREDENTIALS
    if not module.startswith("azure."):
        return None
    code = _CODE.search(text)
    found = Cause.of_answer(code[1], text) if code else None
    return found or _STATUSES.get(getattr(error, "status_code", 0))

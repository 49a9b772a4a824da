"""What ossfs and Alibaba's SDK raise where OSS fails; tried with ossfs 2025.5.0 and oss2 2.18.4.

ossfs raises an ``OSError`` of its own choice, from the error of oss2, which has the code.
"""

from __future__ import annotations

import re

from lancespace.authoring import Cause

_STS = re.compile(r"^STS answered (?P<code>[\w.]+): (?P<message>.*)", re.DOTALL)
"""What the OSS plugin says of a refusal by Alibaba's token service, whose codes are those of OSS."""


def find_cause(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of oss2 tells, or None."""
    if isinstance(error, OSError) and (refusal := _STS.search(text)):
        return Cause.of_answer(refusal["code"], refusal["message"])
    if not type(error).__module__.startswith("oss2"):
        return None
    if type(error).__name__ == "RequestError":
        return Cause.without_answer(text)
    return Cause.of_answer(str(getattr(error, "code", "")), str(getattr(error, "message", "")))

"""What ossfs and Alibaba's SDK raise where OSS fails; tried with ossfs 2025.5.0 and oss2 2.18.4.

ossfs raises an ``OSError`` of its own choice, from the error of oss2, which has the code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lancespace.causes.table import NO_HOST, UNREACHABLE, UNTRUSTED, by_answer

if TYPE_CHECKING:
    from lancespace.causes.table import Cause

_DETAILS = re.compile(
    r"\{'status': \d+, .*'Code': '(?P<code>[\w.]+)', 'Message': (?P<quote>['\"])(?P<message>.*?)(?P=quote).*\}\}"
)
"""How ossfs prints an answer that it has no class for."""
_STS = re.compile(r"^STS answered (?P<code>[\w.]+): (?P<message>.*)", re.DOTALL)
"""What the OSS plugin says of a refusal by Alibaba's token service, whose codes are those of OSS."""
_NO_ANSWER = re.compile(
    r"\{'status': -\d+, .*'details': ['\"]RequestError: (?P<reason>.*?)(?: \(Caused by .*)?['\"]\}", re.DOTALL
)


def find(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of oss2 tells, or None."""
    if isinstance(error, OSError) and (refusal := _STS.search(text)):
        return by_answer(refusal["code"], refusal["message"])
    if not type(error).__module__.startswith("oss2"):
        return None
    if type(error).__name__ == "RequestError":
        return NO_HOST if "NameResolutionError" in text else UNTRUSTED if "SSLError" in text else UNREACHABLE
    return by_answer(str(getattr(error, "code", "")), str(getattr(error, "message", "")))


def plain(text: str) -> str:
    """The message without what only programs read."""
    return _NO_ANSWER.sub(r"\g<reason>", _DETAILS.sub(r"\g<message> (\g<code>)", text))

"""What the operating system and Python's own networking say, also where a message of pylance quotes it."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from typing import TYPE_CHECKING

from lancespace.causes.table import DISK_FULL, NO_HOST, NO_PERMISSION, READ_ONLY, TOO_MANY_FILES, UNTRUSTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lancespace.causes.table import Cause

_ERRNOS: Mapping[int, Cause] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), DISK_FULL),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), TOO_MANY_FILES),
    **dict.fromkeys((errno.EACCES, errno.EPERM), NO_PERMISSION),
    errno.EROFS: READ_ONLY,
}
_QUOTED = re.compile(r"^(?:External error: |Storage error: )?LanceError\(IO\): .*\(os error (\d+)\)", re.DOTALL)


def find(error: BaseException, text: str) -> Cause | None:
    """The cause that an error of the system tells, or None."""
    if isinstance(error, socket.gaierror):
        return NO_HOST
    if isinstance(error, ssl.SSLError):
        return UNTRUSTED
    return _ERRNOS.get(number(error, text))


def number(error: BaseException, text: str) -> int:
    """The ``errno`` of an OSError, or the one that a message of Rust quotes as ``(os error 28)``; 0 if none."""
    own = getattr(error, "errno", None)
    quoted = _QUOTED.search(text)
    return own if isinstance(own, int) else int(quoted.group(1)) if quoted else 0

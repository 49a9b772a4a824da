"""Why storage fails: found in what pylance, the operating system and the libraries of storage plugins raise."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping

from lancespace._causes import pylance
from lancespace._causes.cause import Cause

__all__ = ["Cause", "error_number", "find_cause", "plain", "register_finder", "text_of"]

Finder = Callable[[BaseException, str], Cause | None]
"""Takes an error and its message, and returns the cause that they tell, or None."""

_ERRNOS: Mapping[int, Cause] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), Cause.DISK_FULL),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), Cause.TOO_MANY_FILES),
    **dict.fromkeys((errno.EACCES, errno.EPERM), Cause.NO_PERMISSION),
    errno.EROFS: Cause.READ_ONLY,
}
_QUOTED = re.compile(r"^(?:External error: |Storage error: )?LanceError\(IO\): .*\(os error (\d+)\)", re.DOTALL)
_DEPTH = 5
_LONGEST = 10_000
"""Characters of a message that are looked at: some quote all that a caller sent."""
_finders: dict[str, Finder] = {}
"""By storage plugin: only a plugin that is loaded can have failed."""


def register_finder(plugin: str, find: Finder) -> None:
    """Ask a storage plugin, too, in this process: it knows how its library words failures."""
    _finders[plugin] = find


def find_cause(error: BaseException) -> Cause | None:
    """The cause of a failure, from its message or from the errors it was raised from; None if none is known."""
    finders = (pylance.find, *_finders.values(), _find_in_system)
    found = (find(one, text_of(one)) for one in _chain(error) for find in finders)
    return next(filter(None, found), None)


def plain(text: str) -> str:
    """A message without what only programs read: XML, JSON and structures of Rust."""
    return pylance.plain(text)


def text_of(error: BaseException) -> str:
    """The message without what Python puts around it, e.g. KeyError's quotes."""
    pieces = error.args if error.args and all(isinstance(arg, str) for arg in error.args) else (str(error),)
    text = "".join(pieces)
    if len(text) > _LONGEST:  # What is wrong stands at the beginning or, after a name of the caller's, at the end.
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    return text.strip()


def error_number(error: BaseException, text: str) -> int:
    """The ``errno`` of an OSError, or the one that a message of Rust quotes as ``(os error 28)``; 0 if none."""
    own = getattr(error, "errno", None)
    quoted = _QUOTED.search(text)
    return own if isinstance(own, int) else int(quoted.group(1)) if quoted else 0


def _find_in_system(error: BaseException, text: str) -> Cause | None:
    if isinstance(error, socket.gaierror):
        return Cause.NO_HOST
    if isinstance(error, ssl.SSLError):
        return Cause.UNTRUSTED
    return _ERRNOS.get(error_number(error, text))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error that tells most comes first: it is at the end of the chain."""
    chain = [error]
    while len(chain) < _DEPTH and (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    return reversed(chain)

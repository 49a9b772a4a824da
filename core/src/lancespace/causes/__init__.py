"""Why storage fails: found in what pylance, fsspec's file systems and the operating system raise.

The causes and what to do about them are in :mod:`lancespace.causes.table`. How each library words its failures is in
a module of that library, with the versions that were tried; none of them is imported.
"""

from __future__ import annotations

from collections.abc import Iterator

from lancespace.causes import adlfs, botocore, gcsfs, ossfs, pylance, system
from lancespace.causes.table import Cause

__all__ = ["Cause", "find", "plain", "text_of"]

_LIBRARIES = (pylance, botocore, adlfs, ossfs, gcsfs, system)
_DEPTH = 5
_LONGEST = 10_000
"""Characters of a message that are looked at: some quote all that a caller sent."""


def find(error: BaseException) -> Cause | None:
    """The cause of a failure, from its message or from the errors it was raised from; None if none is known."""
    found = (library.find(one, text_of(one)) for one in _chain(error) for library in _LIBRARIES)
    return next(filter(None, found), None)


def plain(text: str) -> str:
    """A message of any of the libraries, without what only programs read: XML, JSON and structures of Rust."""
    return ossfs.plain(pylance.plain(text))


def text_of(error: BaseException) -> str:
    """The message without what Python puts around it, e.g. KeyError's quotes."""
    pieces = error.args if error.args and all(isinstance(arg, str) for arg in error.args) else (str(error),)
    text = "".join(pieces)
    if len(text) > _LONGEST:  # What is wrong stands at the beginning or, after a name of the caller's, at the end.
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    return text.strip()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error that tells most comes first: it is at the end of the chain."""
    chain = [error]
    while len(chain) < _DEPTH and (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    return reversed(chain)

"""Looking into an object store with pylance's own client, which spends one request on a look.

fsspec answers whether something is there as if it were a directory, too, and lists what is above to make sure: two
requests or more. It stays for writes and deletes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance.file import LanceFileSession

    from lancespace.authoring import Storage

_ESCAPES = frozenset("%#?")
_AS_IS = re.compile(r"[\w .$+&'/-]*", re.ASCII)


def open_session(storage: Storage, relative: str) -> LanceFileSession:
    """A session for what is at a location below the storage's own."""
    from lance.file import LanceFileSession

    return LanceFileSession(storage.uri(relative), storage.options)


def is_same_for_all(storage: Storage) -> bool:
    """Whether pylance and fsspec mean the same place: of a store's location, pylance takes the escapes of a URL."""
    return storage.is_local or not _ESCAPES & set(storage.location)


def takes(path: str) -> bool:
    """Whether a session takes this path as it is: below its location, pylance escapes some characters."""
    return _AS_IS.fullmatch(path) is not None

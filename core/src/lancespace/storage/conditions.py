"""Whether a store keeps the condition of a write. Some that speak S3 take every write, and say nothing of it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING
from weakref import WeakSet

from lance_namespace import UnsupportedOperationError

from lancespace.storage.local import STAGED_PREFIX

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from lancespace.storage.store import Storage

_TRIED: WeakSet[AbstractFileSystem] = WeakSet()
"""The clients of stores that were seen to keep it."""


def require_conditions(storage: Storage) -> None:
    """Try to write a file twice: whoever begins a catalog asks this first, since it rests on the answer.

    A process asks a store once.

    Raises:
        UnsupportedOperationError: If the store took the second write.
    """
    if storage.is_local or storage.filesystem in _TRIED:
        return
    name = f"{STAGED_PREFIX}{uuid.uuid4().hex}"
    path = f"{storage.path()}/{name}"
    storage.put_if_absent(path, name.encode(), unique=True)
    try:
        storage.put_if_absent(path, b"again")
    except FileExistsError:
        _TRIED.add(storage.filesystem)
        return
    finally:
        storage.delete_tree(path)
    raise UnsupportedOperationError(
        f"{storage!r} overwrote a file that it was told not to overwrite. Writers of a catalog there would undo each "
        "other's changes: use a store, or a release of it, that keeps the condition of a write (for S3, If-None-Match)."
    )

"""What a store shows by a file that is written to it: its clock, and whether it keeps the condition of a write."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from weakref import WeakSet

from lance_namespace import UnsupportedOperationError

from lancespace._storage.local import STAGED_PREFIX

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from lancespace._storage.store import Storage

_TRIED: WeakSet[AbstractFileSystem] = WeakSet()
"""The clients of stores that were seen to keep the condition of a write."""


@contextmanager
def _file(storage: Storage, folder: str) -> Iterator[str]:
    """A file that is written to a folder and deleted again."""
    name = f"{STAGED_PREFIX}{uuid.uuid4().hex}"
    path = f"{folder}/{name}"
    storage.put_if_absent(path, name.encode(), unique=True)
    try:
        yield path
    finally:
        storage.delete_tree(path)


def store_time(storage: Storage, folder: str) -> datetime:
    """The time by the clock of the store, by which it tells the ages of files: this machine's may be wrong by days."""
    with _file(storage, folder) as path:
        return aware(storage.filesystem.modified(path))


def clock_lead(storage: Storage, folder: str) -> timedelta:
    """How far the clock of this machine is ahead of the store's."""
    return datetime.now(timezone.utc) - store_time(storage, folder)


def aware(time: datetime | float) -> datetime:
    """A time with its zone: some file systems leave it out, and mean UTC; others count seconds since 1970."""
    if isinstance(time, (int, float)):
        return datetime.fromtimestamp(time, timezone.utc)
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)


def require_conditions(storage: Storage) -> None:
    """Try to write a file twice, once per process and store: a catalog rests on the answer.

    Raises:
        UnsupportedOperationError: If the store took the second write, as some do that speak S3.
    """
    if storage.is_local or storage.filesystem in _TRIED:
        return
    with _file(storage, storage.path()) as path:
        try:
            storage.put_if_absent(path, b"again")
        except FileExistsError:
            _TRIED.add(storage.filesystem)
            return
    raise UnsupportedOperationError(
        f"{storage!r} overwrote a file that it was told not to overwrite. Writers of a catalog there would undo each "
        "other's changes: use a store, or a release of it, that keeps the condition of a write (for S3, If-None-Match)."
    )

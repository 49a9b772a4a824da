"""The clock of a store. The ages of its files are told by it: that of this machine may be wrong by days."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from lancespace.storage.local import STAGED_PREFIX

if TYPE_CHECKING:
    from lancespace.storage.store import Storage


def now(storage: Storage, folder: str) -> datetime:
    """The time by the clock of the store, from a file that is written to a folder and deleted again."""
    path = f"{folder}/{STAGED_PREFIX}{uuid.uuid4().hex}"
    storage.put_if_absent(path, b"", unique=True)
    try:
        return aware(storage.filesystem.modified(path))
    finally:
        storage.delete_tree(path)


def ahead(storage: Storage, folder: str) -> timedelta:
    """How far the clock of this machine is ahead of the store's."""
    return datetime.now(timezone.utc) - now(storage, folder)


def aware(time: datetime | float) -> datetime:
    """A time with its zone: some file systems leave it out, and mean UTC; others count seconds since 1970."""
    if isinstance(time, (int, float)):
        return datetime.fromtimestamp(time, timezone.utc)
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)

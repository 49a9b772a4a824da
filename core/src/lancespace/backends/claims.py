"""Marks in the directories of tables whose files are being deleted.

A drop leaves a claim and then looks for tables that have the files. ``register_table`` enters a table and then looks
for a claim. So at least one of the two sees the other.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from lance_namespace import InvalidTableStateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lancespace.storage import Storage

_PREFIX = ".lance-deleting-"


def delete_unless(storage: Storage, is_used: Callable[[], bool]) -> None:
    """Delete all files of a location, unless a table that was registered before the claim has them, too."""
    folder = storage.path()
    claim = f"{folder}/{_PREFIX}{uuid.uuid4().hex}"
    storage.put_if_absent(claim, b"")
    stays = True
    try:
        stays = is_used()
    finally:
        if stays:
            storage.delete_files([claim])
    if not stays:
        storage.delete_tree(folder, last=claim)


def need_unclaimed(storage: Storage, name: str) -> None:
    """Refuse a location whose files are being deleted.

    Raises:
        InvalidTableStateError: There is a claim.
    """
    try:
        found = storage.filesystem.ls(storage.path(), detail=False)
    except FileNotFoundError:
        return
    if any(str(path).rpartition("/")[2].startswith(_PREFIX) for path in found):
        raise InvalidTableStateError(
            f"The table {name!r} cannot be registered at {storage.location!r}: a drop is deleting the files there. "
            f"If that was interrupted, delete '{_PREFIX}*' there to keep the files. If the name is in the catalog "
            "now, drop or deregister it."
        )

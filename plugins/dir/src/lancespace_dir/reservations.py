"""Taking out tables that were declared and have no data, while their writers may come back at any moment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from lancespace.authoring import identifiers
from lancespace_dir import mutations
from lancespace_dir.listing import Listing
from lancespace_dir.root import RESERVED
from lancespace_jobs import FOLDER

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.committer import ManifestTable
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.schema import Entry

RESERVATION = frozenset({RESERVED, FOLDER})
"""All that is in the directory of a table before its first version."""


def take_out(
    manifest: ManifestTable, entry: Entry, is_empty: Callable[[], bool], is_old: Callable[[], bool] | None = None
) -> bool:
    """Take a row out, unless it is not the one that was looked at, its table has data by now, or it is to be spared.

    A writer may bring data between the last look and the commit, so there is one more look, and then the row is put
    back. If its data comes later than that, the writer finds the row gone.
    """

    def remove(draft: Draft) -> bool:
        if draft.get(entry.object_id) != entry or not is_empty() or (is_old is not None and not is_old()):
            return False
        mutations.take_out_table(draft, identifiers.split(entry.object_id))
        return True

    def put_back(draft: Draft) -> None:
        if draft.get(entry.object_id) is None and mutations.is_free(draft, entry):
            draft.put(entry)

    if not manifest.mutate(remove):
        return False
    if not is_empty():
        manifest.mutate(put_back)
        return False
    return True


def is_reserved(storage: Storage, location: str) -> bool:
    """Whether nothing but the marks of a reservation is at a location."""
    return set(Listing(storage).contents(location)) <= RESERVATION


def has_staged(storage: Storage, location: str) -> bool:
    """Whether a job has files there that it is about to commit."""
    return bool(storage.filesystem.find(f"{storage.path()}/{location}/{FOLDER}"))


def delete_marks(storage: Storage, location: str) -> None:
    """Delete the marks of a reservation and nothing else: what a writer has put beside them by now stays."""
    path = f"{storage.path()}/{location}"
    for mark in RESERVATION:
        storage.delete_tree(f"{path}/{mark}")
    if Listing(storage).has_directories:
        with suppress(OSError):
            storage.filesystem.rmdir(path)  # Only if nothing is left in it.

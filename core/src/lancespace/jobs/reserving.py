"""The name of a table that a job is about to make: reserved before, and given back if nothing came of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lance_namespace import NamespaceNotFoundError, TableAlreadyExistsError, TableNotFoundError

from lancespace.jobs.stages import FOLDER, stages_of

if TYPE_CHECKING:
    from lancespace.handles import TableHandle


def declare(handle: TableHandle) -> bool:
    """Reserve the name of a new table; False if it is reserved already."""
    try:
        handle.namespace.declare_table(list(handle.id))
    except TableAlreadyExistsError:
        return False
    return True


def take_back(handle: TableHandle, mark: str | None = None) -> None:
    """Drop a table that a failed job has declared, unless others have begun to write to it.

    Files without a version are those of a writer that is about to commit: then the declaration stays, and harms nobody.
    Those of the failed job are deleted, if its mark is given. A backend that has ``drop_declared`` drops on that
    condition; for others the look comes right before the drop.
    """
    namespace = handle.namespace
    drop = getattr(namespace.backend, "drop_declared", namespace.drop_table)
    with suppress(TableNotFoundError, NamespaceNotFoundError):
        if handle.latest() is not None:
            return
        for stage in [] if mark is None else stages_of(handle, mark):
            stage.discard()
        if not _has_files(handle):
            drop(list(handle.id))


def _has_files(handle: TableHandle) -> bool:
    place = handle.place()
    storage = handle.storage(place)
    return any(storage.filesystem.find(storage.path(f"{place.location}/{folder}")) for folder in ("data", FOLDER))

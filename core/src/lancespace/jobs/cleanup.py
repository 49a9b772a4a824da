"""Clean-up: versions and files that nobody needs any more."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from lance_namespace import InvalidTableStateError

from lancespace.engines import Job
from lancespace.errors import public, translated
from lancespace.handles import TableHandle
from lancespace.jobs.stages import FOLDER
from lancespace.jobs.submitted import SubmittedJob, submit
from lancespace.storage import clock

if TYPE_CHECKING:
    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace

KEPT = timedelta(days=7)
"""How long old versions, and files that no version names, are kept by default: a writer may be about to commit them."""
_MOST_AHEAD = timedelta(hours=1)
"""How far the clock of this machine may be ahead of the store's; Lance spares younger files by this machine's."""
SLICE = 1000
"""How many versions are deleted at once: Lance lists the table each time, so there are slices only where it pays."""


@dataclass(frozen=True)
class _Slice:
    """Old versions of a table: those from before a moment, in seconds since 1970, or in the end all."""

    handle: TableHandle
    before: float | None
    older_than: timedelta
    is_quiet: bool

    @property
    def age(self) -> timedelta:
        """How old the versions are, as Lance counts: by the clock of whoever asks it."""
        return self.older_than if self.before is None else timedelta(seconds=time.time() - self.before)


@public
def clean_up(
    namespace: Namespace, table: Identifier, *, older_than: timedelta = KEPT, is_quiet: bool = False
) -> SubmittedJob:
    """Delete versions older than that, except tagged ones, and files that writers left which never came to commit.

    Lance keeps files that no version names for a week, since a writer may be about to commit them. ``is_quiet`` says
    that nobody is writing to the table now: then they go at once, if they are older than ``older_than``.
    """
    handle = TableHandle.of(namespace, table)
    handle.open()
    return submit(namespace, Job("clean_up", handle.name, lambda work: _run(handle, older_than, is_quiet, work)))


def delete_slice(task: _Slice) -> dict[str, int]:
    """Delete versions, and what only they had; in the end what dead writers left. Runs wherever the engine computes."""
    is_last = task.before is None
    need_clock(task.handle)
    with translated(f"clean up table {task.handle.name!r}"):
        done = task.handle.open().cleanup_old_versions(
            older_than=task.age, delete_unverified=task.is_quiet and is_last, error_if_tagged_old_versions=False
        )
        if is_last:
            _remove_abandoned(task.handle, task.older_than if task.is_quiet else max(task.older_than, KEPT))
    return {"versions": done.old_versions, "bytes": done.bytes_removed}


def need_clock(handle: TableHandle) -> None:
    """Refuse to delete by the clock of a machine that is far ahead of the store's: files would seem old that are new.

    Raises:
        InvalidTableStateError: If it is.
    """
    place = handle.place()
    storage = handle.storage(place)
    ahead = clock.ahead(storage, storage.path(place.location))
    if ahead > _MOST_AHEAD:
        shown = timedelta(seconds=round(ahead.total_seconds()))
        raise InvalidTableStateError(
            f"The clock of this machine is {shown} ahead of the store's, so files that others are writing would seem "
            "old: set the clock, then clean up again. Nothing was deleted."
        )


def _run(handle: TableHandle, older_than: timedelta, is_quiet: bool, work: Work) -> None:
    """Slices go one after the other, the oldest first: a repeat finds what is left."""
    work.report(0.0, f"deleting what is older than {older_than}")
    tasks = [_Slice(handle, before, older_than, is_quiet) for before in (*_moments(handle, older_than), None)]
    versions = size = 0
    deleted = work.map(delete_slice, tasks, key=lambda task: str(task.before), concurrency=1)
    for number, (_, done) in enumerate(deleted, 1):
        versions, size = versions + done["versions"], size + done["bytes"]
        work.report(number / len(tasks), f"deleted {versions} versions, {size} bytes")


def _moments(handle: TableHandle, older_than: timedelta) -> list[float]:
    """The moments between slices; none for a table without many old versions, which need not be listed then."""
    dataset = handle.open()
    if dataset.version <= SLICE:
        return []
    newest = time.time() - older_than.total_seconds()
    times = sorted(version["timestamp"].timestamp() for version in dataset.versions())
    return [moment for moment in times[:-1] if moment < newest][SLICE::SLICE]


def _remove_abandoned(handle: TableHandle, older_than: timedelta) -> None:
    """Folders of jobs whose driver died before it could clear them away."""
    place = handle.place()
    storage = handle.storage(place)
    folder = storage.path(f"{place.location}/{FOLDER}")
    try:
        found = storage.filesystem.ls(folder, detail=True)
    except FileNotFoundError:
        return
    for entry in found:
        files = storage.filesystem.find(entry["name"], detail=True).values()
        newest = max((_seconds(file) for file in files), default=time.time())
        if time.time() - newest > older_than.total_seconds():
            storage.delete_tree(entry["name"])


def _seconds(file: dict[str, object]) -> float:
    """When a file was last written, whichever way its file system tells."""
    stamp = next(file[name] for name in ("mtime", "LastModified", "last_modified", "updated") if name in file)
    if isinstance(stamp, (int, float)):
        return float(stamp)
    from datetime import datetime

    moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else stamp
    assert isinstance(moment, datetime)  # noqa: S101 - what fsspec's file systems give
    return moment.timestamp()

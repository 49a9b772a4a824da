"""Clean-up: versions and files that nobody needs any more."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from lancespace.engines import Job
from lancespace.errors import translated
from lancespace.handles import TableHandle
from lancespace.jobs.stages import FOLDER
from lancespace.jobs.submitted import SubmittedJob, submit

if TYPE_CHECKING:
    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace

KEPT = timedelta(days=7)
"""How long old versions, and files that no version names, are kept by default: a writer may be about to commit them."""


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


def _run(handle: TableHandle, older_than: timedelta, is_quiet: bool, work: Work) -> None:
    """On the driver: it is a matter of listing and deleting."""
    work.report(0.0, f"deleting what is older than {older_than}")
    with translated(f"clean up table {handle.name!r}"):
        done = handle.open().cleanup_old_versions(
            older_than=older_than, delete_unverified=is_quiet, error_if_tagged_old_versions=False
        )
        _remove_abandoned(handle, older_than if is_quiet else max(older_than, KEPT))
    work.report(1.0, f"deleted {done.old_versions} versions, {done.bytes_removed} bytes")


def _remove_abandoned(handle: TableHandle, older_than: timedelta) -> None:
    """Folders of jobs whose driver died before it could clear them away."""
    import time

    place = handle.place()
    storage = handle.storage(place)
    folder = storage.path(f"{place.location}/{FOLDER}")
    try:
        found = storage.filesystem.ls(folder, detail=True)
    except FileNotFoundError:
        return
    for entry in found:
        files = storage.filesystem.find(entry["name"], detail=True).values()
        newest = max((_seconds(file) for file in files), default=0.0)
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

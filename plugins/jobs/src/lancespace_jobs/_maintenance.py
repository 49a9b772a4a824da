"""Maintenance: fragments compacted and old versions deleted, of one table or of every table of a catalog."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lance.optimize import Compaction, CompactionTask, RewriteResult
from lance_namespace import InvalidTableStateError

from lancespace import Namespace
from lancespace.authoring import (
    Identifier,
    Job,
    Work,
    clock_lead,
    fingerprint,
    identifiers,
    public,
    translate,
    translated,
)
from lancespace_jobs._stages import FOLDER
from lancespace_jobs._submitted import JobFailedError, SubmittedJob, submit
from lancespace_jobs._table_spec import TableSpec
from lancespace_tables import DEFINITION, data_files, in_rounds

KEPT = timedelta(days=7)
"""How long old versions, and files that no version names, are kept by default: a writer may be about to commit them."""
_MOST_AHEAD = timedelta(hours=1)
"""How far the clock of this machine may be ahead of the store's; Lance spares younger files by this machine's."""
SLICE = 1000
"""How many versions are deleted at once: Lance lists the table each time, so there are slices only where it pays."""


@dataclass(frozen=True)
class _Rewrite:
    """Fragments that become new ones."""

    table: TableSpec
    plan: str
    """As JSON."""


@public
def compact(
    namespace: Namespace,
    table: Identifier,
    *,
    target_rows_per_fragment: int = 1 << 20,
    max_tasks: int | None = None,
) -> SubmittedJob:
    """Rewrite small fragments as large ones, in one commit; ``max_tasks`` bounds how much one run does.

    Readers and appenders are not held up. A concurrent delete or update of the same fragments makes the job start
    again on what it finds.
    """
    handle = TableSpec.of(namespace, table)
    handle.open()
    options = {"target_rows_per_fragment": target_rows_per_fragment}
    mark = fingerprint("compact", namespace.namespace_id(), handle.id, options, max_tasks)

    def run(work: Work) -> None:
        in_rounds(f"table {handle.name!r}", work, lambda: _compact(handle, options, max_tasks, work))

    return submit(namespace, Job("compact", handle.name, run, mark))


def rewrite(task: _Rewrite) -> str:
    """Write the new fragments of a task; runs wherever the engine computes."""
    plan = CompactionTask.from_json(task.plan)
    with translated(f"compact table {task.table.name!r}"):
        text: str = plan.execute(task.table.open(plan.read_version)).json()
    return text


def _compact(handle: TableSpec, options: dict[str, int], max_tasks: int | None, work: Work) -> None:
    with translated(f"compact table {handle.name!r}"):
        dataset = handle.open()
        planned = Compaction.plan(dataset, options).tasks[:max_tasks]
    work.report(0.0, f"compacting {sum(len(one.fragments) for one in planned)} fragments")
    tasks = [_Rewrite(handle, one.json()) for one in planned]

    def is_there(result: str) -> bool:
        return handle.place().has_files(data_files(json.loads(result)["new_fragments"]))

    mapped = work.map(rewrite, tasks, key=lambda task: task.plan, is_there=is_there)
    results = [RewriteResult.from_json(text) for _, text in mapped]
    if results:
        with translated(f"compact table {handle.name!r}"):
            Compaction.commit(dataset, results)


@dataclass(frozen=True)
class _Slice:
    """Old versions of a table: those from before a moment, in seconds since 1970, or in the end all."""

    handle: TableSpec
    before: float | None
    older_than: timedelta
    is_quiet: bool

    @property
    def age(self) -> timedelta:
        """How old the versions are, as Lance counts: by the clock of the process that asks."""
        return self.older_than if self.before is None else timedelta(seconds=time.time() - self.before)


@public
def clean_up(
    namespace: Namespace, table: Identifier, *, older_than: timedelta = KEPT, is_quiet: bool = False
) -> SubmittedJob:
    """Delete versions older than that, except tagged ones, and files that writers left which never came to commit.

    Lance keeps files that no version names for a week, since a writer may be about to commit them. ``is_quiet`` says
    that nobody is writing to the table now: then they go at once, if they are older than ``older_than``.
    """
    handle = TableSpec.of(namespace, table)
    handle.open()
    return submit(namespace, Job("clean_up", handle.name, lambda work: _clean_up(handle, older_than, is_quiet, work)))


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


def need_clock(handle: TableSpec) -> None:
    """Refuse to delete by the clock of a machine that is far ahead of the store's: files would seem old that are new.

    Raises:
        InvalidTableStateError: If it is.
    """
    storage = handle.storage()
    ahead = clock_lead(storage, storage.path())
    if ahead > _MOST_AHEAD:
        shown = timedelta(seconds=round(ahead.total_seconds()))
        raise InvalidTableStateError(
            f"The clock of this machine is {shown} ahead of the store's, so files that others are writing would seem "
            "old: set the clock, then clean up again. Nothing was deleted."
        )


def _clean_up(handle: TableSpec, older_than: timedelta, is_quiet: bool, work: Work) -> None:
    """Slices go one after the other, the oldest first: a repeat finds what is left."""
    work.report(0.0, f"deleting what is older than {older_than}")
    tasks = [_Slice(handle, before, older_than, is_quiet) for before in (*_moments(handle, older_than), None)]
    versions = size = 0
    deleted = work.map(delete_slice, tasks, key=lambda task: str(task.before), concurrency=1)
    for number, (_, done) in enumerate(deleted, 1):
        versions, size = versions + done["versions"], size + done["bytes"]
        work.report(number / len(tasks), f"deleted {versions} versions, {size} bytes")


def _moments(handle: TableSpec, older_than: timedelta) -> list[float]:
    """The moments between slices; none for a table without many old versions, which need not be listed then."""
    dataset = handle.open()
    if dataset.version <= SLICE:
        return []
    newest = time.time() - older_than.total_seconds()
    times = sorted(version["timestamp"].timestamp() for version in dataset.versions())
    return [moment for moment in times[:-1] if moment < newest][SLICE::SLICE]


def _remove_abandoned(handle: TableSpec, older_than: timedelta) -> None:
    """Folders of jobs whose driver died before it could clear them away."""
    storage = handle.storage()
    try:
        found = storage.filesystem.ls(f"{storage.path()}/{FOLDER}", detail=True)
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
    moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else stamp
    assert isinstance(moment, datetime)  # noqa: S101 - what fsspec's file systems give
    return moment.timestamp()


@public
def maintain(namespace: Namespace, parent: Identifier = (), *, older_than: timedelta = KEPT) -> SubmittedJob:
    """Compact every table below a namespace, update its indexes and delete versions older than that.

    Tables are independent: one that fails is named at the end, and the others are done all the same. A repeat of a run
    that was interrupted passes over the tables that were done and have not changed since. Materialized views are not
    compacted, as their next refresh would have to make them anew.
    """
    names = identifiers.parse(parent) if parent else []
    tables = list(_below(namespace, names))
    about = identifiers.show(names) if names else "the whole catalog"
    mark = fingerprint("maintain", namespace.namespace_id(), names, older_than.total_seconds())
    return submit(namespace, Job("maintain", about, lambda work: _maintain(tables, older_than, work), mark))


def maintain_table(task: tuple[TableSpec, timedelta]) -> dict[str, Any]:
    """Maintain one table; runs wherever the engine computes."""
    handle, older_than = task
    try:
        version = in_rounds(f"table {handle.name!r}", None, lambda: _improve(handle, older_than))
    except Exception as error:  # noqa: BLE001 - the others are done all the same; the job reports it
        return {"table": handle.name, "failed": str(translate(error, about=f"maintain table {handle.name!r}"))}
    return {"table": handle.name, "version": version}


def _improve(handle: TableSpec, older_than: timedelta) -> int | None:
    """The version that it was left at; None if the table has no data."""
    with translated(f"maintain table {handle.name!r}"):
        dataset = handle.latest()
        if dataset is None:
            return None
        if DEFINITION not in dataset.metadata:
            dataset.optimize.compact_files()
        dataset.optimize.optimize_indices()
        need_clock(handle)
        dataset.cleanup_old_versions(older_than=older_than, error_if_tagged_old_versions=False)
        version: int = dataset.latest_version
        return version


def _maintain(tables: list[TableSpec], older_than: timedelta, work: Work) -> None:
    work.report(0.0, f"maintaining {len(tables)} tables")
    known = {handle.name: handle for handle in tables}

    def is_done(result: dict[str, Any]) -> bool:
        """Whether it was done, and nobody has changed it since."""
        latest = known[result["table"]].latest() if "failed" not in result else None
        return latest is not None and latest.version == result["version"]

    tasks = [(handle, older_than) for handle in tables]
    done = work.map(maintain_table, tasks, key=lambda task: task[0].name, is_there=is_done)
    failed = [result["failed"] for _, result in done if "failed" in result]
    if failed:
        raise JobFailedError(f"{len(failed)} of {len(tables)} tables failed: {'; '.join(failed[:10])}")


def _below(namespace: Namespace, names: list[str]) -> Iterator[TableSpec]:
    for table in namespace.tables(names):
        yield TableSpec.of(namespace, [*names, table])
    for child in namespace.namespaces(names):
        yield from _below(namespace, [*names, child])

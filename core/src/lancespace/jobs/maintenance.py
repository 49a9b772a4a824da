"""Maintenance of a whole catalog: every table compacted, its indexes brought up to date, its old versions deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import ConcurrentModificationError

from lancespace import identifiers
from lancespace.engines import Job, fingerprint
from lancespace.errors import public, translate
from lancespace.handles import TableHandle
from lancespace.jobs.cleanup import KEPT, need_clock
from lancespace.jobs.rounds import ROUNDS
from lancespace.jobs.submitted import JobFailedError, SubmittedJob, submit
from lancespace.views import marks

if TYPE_CHECKING:
    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace


@dataclass(frozen=True)
class _Table:
    """A table to look after."""

    handle: TableHandle
    older_than: timedelta


@public
def maintain(namespace: Namespace, parent: Identifier = (), *, older_than: timedelta = KEPT) -> SubmittedJob:
    """Compact every table below a namespace, update its indexes and delete versions older than that.

    Tables are independent: one that fails is named at the end, and the others are done all the same. A repeat of a run
    that was interrupted passes over the tables that were done and have not changed since. Materialized views are not
    compacted, as their next refresh would have to make them anew.
    """
    names = identifiers.parse(parent) if parent else []
    tables = [_Table(handle, older_than) for handle in _below(namespace, names)]
    about = identifiers.show(names) if names else "the whole catalog"
    mark = fingerprint("maintain", namespace.namespace_id(), names, older_than.total_seconds())
    return submit(namespace, Job("maintain", about, lambda work: _run(tables, work), mark))


def look_after(task: _Table) -> dict[str, Any]:
    """Do one table, whole; runs wherever the engine computes."""
    result: dict[str, Any] = {"table": task.handle.name}
    for _ in range(ROUNDS):
        try:
            return result | {"version": _improve(task)}
        except Exception as error:  # noqa: BLE001 - the others are done all the same; the job tells of it
            failure = translate(error, about=f"maintain table {task.handle.name!r}")
            if not isinstance(failure, ConcurrentModificationError):
                break
    return result | {"failed": str(failure)}


def _improve(task: _Table) -> int | None:
    """The version that it was left at; None if the table has no data."""
    dataset = task.handle.latest()
    if dataset is None:
        return None
    if marks.DEFINITION not in dataset.metadata:
        dataset.optimize.compact_files()
    dataset.optimize.optimize_indices()
    need_clock(task.handle)
    dataset.cleanup_old_versions(older_than=task.older_than, error_if_tagged_old_versions=False)
    version: int = dataset.latest_version
    return version


def _run(tables: list[_Table], work: Work) -> None:
    work.report(0.0, f"looking after {len(tables)} tables")
    known = {task.handle.name: task.handle for task in tables}

    def is_done(result: dict[str, Any]) -> bool:
        """Whether it was done, and nobody has changed it since."""
        latest = known[result["table"]].latest() if "failed" not in result else None
        return latest is not None and latest.version == result["version"]

    done = work.map(look_after, tables, key=lambda task: task.handle.name, is_there=is_done)
    failed = [result["failed"] for _, result in done if "failed" in result]
    if failed:
        raise JobFailedError(f"{len(failed)} of {len(tables)} tables failed: {'; '.join(failed[:10])}")


def _below(namespace: Namespace, names: list[str]) -> Iterator[TableHandle]:
    for table in namespace.tables(names):
        yield TableHandle.of(namespace, [*names, table])
    for child in namespace.namespaces(names):
        yield from _below(namespace, [*names, child])

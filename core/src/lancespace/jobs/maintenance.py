"""Maintenance of a whole catalog: every table compacted, its indexes brought up to date, its old versions deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lancespace import identifiers
from lancespace.engines import Job
from lancespace.errors import translate
from lancespace.handles import TableHandle
from lancespace.jobs.cleanup import KEPT
from lancespace.jobs.submitted import JobFailedError, SubmittedJob, submit

if TYPE_CHECKING:
    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace


@dataclass(frozen=True)
class _Table:
    """A table to look after."""

    handle: TableHandle
    older_than: timedelta


def maintain(namespace: Namespace, parent: Identifier = (), *, older_than: timedelta = KEPT) -> SubmittedJob:
    """Compact every table below a namespace, update its indexes and delete versions older than that.

    Tables are independent: one that fails is named at the end, and the others are done all the same. A repeat finds
    little to do where this one was.
    """
    names = identifiers.parse(parent) if parent else []
    tables = [_Table(handle, older_than) for handle in _below(namespace, names)]
    about = identifiers.show(names) if names else "the whole catalog"
    return submit(namespace, Job("maintain", about, lambda work: _run(tables, work)))


def look_after(task: _Table) -> dict[str, Any]:
    """Do one table, whole; runs wherever the engine computes."""
    try:
        dataset = task.handle.latest()
        if dataset is None:
            return {}
        dataset.optimize.compact_files()
        dataset.optimize.optimize_indices()
        dataset.cleanup_old_versions(older_than=task.older_than, error_if_tagged_old_versions=False)
    except Exception as error:  # noqa: BLE001 - the others are done all the same; the job tells of it
        return {"failed": str(translate(error, about=f"maintain table {task.handle.name!r}"))}
    return {}


def _run(tables: list[_Table], work: Work) -> None:
    work.report(0.0, f"looking after {len(tables)} tables")
    done = work.map(look_after, tables, key=lambda task: task.handle.name)
    failed = [result["failed"] for _, result in done if "failed" in result]
    if failed:
        raise JobFailedError(f"{len(failed)} of {len(tables)} tables failed: {'; '.join(failed[:10])}")


def _below(namespace: Namespace, names: list[str]) -> Iterator[TableHandle]:
    for table in namespace.tables(names):
        yield TableHandle.of(namespace, [*names, table])
    for child in namespace.namespaces(names):
        yield from _below(namespace, [*names, child])

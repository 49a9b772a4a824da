"""Compaction: few large fragments instead of many small ones, and no deleted rows in files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace.engines import Job, fingerprint
from lancespace.errors import public, translated
from lancespace.handles import TableHandle
from lancespace.jobs.rounds import in_rounds
from lancespace.jobs.submitted import SubmittedJob, submit
from lancespace.tables.presence import are_there, data_files

if TYPE_CHECKING:
    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace


@dataclass(frozen=True)
class _Rewrite:
    """Fragments that become new ones."""

    table: TableHandle
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
    handle = TableHandle.of(namespace, table)
    handle.open()
    options = {"target_rows_per_fragment": target_rows_per_fragment}
    mark = fingerprint("compact", namespace.namespace_id(), handle.id, options, max_tasks)
    return submit(namespace, Job("compact", handle.name, lambda work: _run(handle, options, max_tasks, work), mark))


def rewrite(task: _Rewrite) -> str:
    """Write the new fragments of a task; runs wherever the engine computes."""
    from lance.optimize import CompactionTask

    plan = CompactionTask.from_json(task.plan)
    with translated(f"compact table {task.table.name!r}"):
        text: str = plan.execute(task.table.open(plan.read_version)).json()
    return text


def _run(handle: TableHandle, options: dict[str, int], max_tasks: int | None, work: Work) -> None:
    in_rounds(f"table {handle.name!r}", work, lambda: _round(handle, options, max_tasks, work))


def _round(handle: TableHandle, options: dict[str, int], max_tasks: int | None, work: Work) -> None:
    from lance.optimize import Compaction, RewriteResult

    with translated(f"compact table {handle.name!r}"):
        dataset = handle.open()
        planned = Compaction.plan(dataset, options).tasks[:max_tasks]
    work.report(0.0, f"compacting {sum(len(one.fragments) for one in planned)} fragments")
    tasks = [_Rewrite(handle, one.json()) for one in planned]
    mapped = work.map(rewrite, tasks, key=lambda task: task.plan, is_there=lambda text: _is_there(handle, text))
    results = [RewriteResult.from_json(text) for _, text in mapped]
    if results:
        with translated(f"compact table {handle.name!r}"):
            Compaction.commit(dataset, results)


def _is_there(handle: TableHandle, result: str) -> bool:
    place = handle.place()
    return are_there(place.location, place.storage_options, data_files(json.loads(result)["new_fragments"]))

"""Dividing a refresh into units that can be made apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from lancespace.engines import fingerprint
from lancespace.views import calls, queries
from lancespace.views.definition import UDTF
from lancespace.views.sources import fragment_keys, table_key

if TYPE_CHECKING:
    from lancespace.views.tasks import Task

_PARTITION_TASKS = 16
"""The number of tasks for the partitions of a UDTF; each runs the query for its own partitions."""


@dataclass(frozen=True)
class Unit:
    """Rows of a view that are made together, and replaced together when what they come of has changed."""

    key: str
    """Changes when what the rows come of does."""
    tasks: tuple[Task, ...]


def divide(task: Task) -> list[Unit]:
    """A task for a whole view, divided as far as its query allows: by fragments of its source, if it is row-wise."""
    pinned = {source.names: source for source in task.sources}
    planned = queries.plan(task.definition.sql, lambda names: pinned[names].open())
    if planned.columns is None or task.definition.kind == UDTF:
        key = fingerprint([table_key(planned.sources[names]) for names in sorted(planned.sources)])
        return [Unit(key, tuple(_by_partition(replace(task, key=key))))]
    (dataset,) = planned.sources.values()
    part = replace(task, columns=planned.columns)
    keys = fragment_keys(dataset)
    return [Unit(key, (replace(part, key=key, fragment=number),)) for number, key in keys.items()]


def cut(unit: Unit, rows: int) -> Unit:
    """The first rows of a unit, under a key that no whole one has."""
    key = f"{unit.key}-first-{rows}"
    return Unit(key, tuple(replace(task, key=f"{task.key}-first-{rows}", limit=rows) for task in unit.tasks))


def _by_partition(task: Task) -> Iterable[Task]:
    """One task, or for a UDTF with partitions one for each group of them."""
    call = task.definition.call
    if call is None or call.partition_by is None:
        return [task]
    found: set[Any] = set()
    for batch in queries.run(task.definition.sql, task.sources):
        found.update(pc.unique(calls.column(batch, call.partition_by)).to_pylist())
    values = sorted(found, key=repr)
    shares = [tuple(values[number::_PARTITION_TASKS]) for number in range(min(_PARTITION_TASKS, len(values)))]
    return [replace(task, key=f"{task.key}-{fingerprint(repr(share))}", partitions=share) for share in shares]

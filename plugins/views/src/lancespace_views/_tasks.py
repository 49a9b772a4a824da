"""The part of a refresh that may run elsewhere: compute some rows of a view, and write them to files of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lance.fragment import write_fragments

from lancespace.authoring import aligned, fingerprint, translated
from lancespace_tables import TableLocation
from lancespace_views import _calls as calls
from lancespace_views import _queries as queries
from lancespace_views._definition import CHUNKER, UDTF, Call, Definition
from lancespace_views._queries import Source, fragment_keys, table_key

_PARTITION_TASKS = 16
"""The number of tasks for the partitions of a UDTF; each runs the query for its own partitions."""


@dataclass(frozen=True)
class Task:
    """A part of a view's rows; picklable, for any process."""

    key: str
    definition: Definition
    sources: tuple[Source, ...]
    view: TableLocation
    rows_per_file: int
    fragment: int | None = None
    """Only what comes of this fragment of the one source; None for all."""
    columns: tuple[str, ...] = ()
    """With a fragment: what the query reads of it."""
    batch_rows: int | None = None
    """With a fragment: the number of rows to read at a time."""
    partitions: tuple[Any, ...] | None = None
    """Only what comes of the rows with one of these values in the UDTF's partition column."""
    limit: int | None = None
    """The number of rows to stop after."""


def compute(task: Task) -> dict[str, Any]:
    """Write the rows of a task and say where they are: JSON, since it may be kept as a checkpoint."""
    with translated(f"refresh the view {task.view.name!r}"):
        tables = _first(_rows(task), task.limit)
        batches = chain.from_iterable(table.to_batches() for table in tables)
        fragments = _write(batches, task)
    return {"fragments": [fragment.to_json() for fragment in fragments]}


def _rows(task: Task) -> Iterator[pa.Table]:
    schema, call = task.definition.schema, task.definition.call
    if call is None:
        return (calls.conform(batch, schema, "The query") for batch in _query(task))
    if task.definition.kind == CHUNKER:
        return calls.chunked(call, _query(task), schema)
    return calls.applied(call, _parts(task, call), schema)


def _query(task: Task) -> Iterator[pa.RecordBatch]:
    """The rows of the view's query."""
    sql = task.definition.sql
    if task.fragment is None:
        yield from queries.run(sql, task.sources)
        return
    dataset = task.sources[0].open()
    scanner = dataset.get_fragment(task.fragment).scanner(columns=list(task.columns), batch_size=task.batch_rows)
    yield from queries.run_on_batches(sql, dataset.schema, scanner.to_batches())


def _parts(task: Task, call: Call) -> Iterator[pa.Table]:
    """What a UDTF is called with: all rows, or those of each partition."""
    rows = queries.run(task.definition.sql, task.sources)
    column, values = call.partition_by, task.partitions
    if column is None or values is None:
        yield _mapped(rows, rows.schema)
        return
    table = _mapped((among(batch, column, values) for batch in rows), rows.schema)
    for value in values:
        yield among(table, column, (value,))


def _mapped(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """All rows as one table, which may be larger than memory: it is mapped from a temporary file without a name."""
    with tempfile.TemporaryDirectory(prefix="lancespace-") as folder:
        path = f"{folder}/rows"
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return pa.ipc.open_stream(pa.memory_map(path)).read_all()


def among(rows: Any, column: str, values: tuple[Any, ...]) -> Any:
    """The rows that have one of these values; None is one too."""
    found = calls.column(rows, column)
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    return rows.filter(pc.is_in(found, value_set=pa.array(values, found.type)))


def _first(tables: Iterator[pa.Table], limit: int | None) -> Iterator[pa.Table]:
    """The first ``limit`` rows of the tables, or all; no more of them are computed."""
    left = limit
    for table in tables:
        if left is None:
            yield table
            continue
        yield table.slice(0, left)
        left -= min(left, table.num_rows)
        if left == 0:
            return


def _write(batches: Iterable[pa.RecordBatch], task: Task) -> list[Any]:
    """Write the files; what the rows raise is raised as it is, and not as it comes out of Lance."""
    failures: list[Exception] = []
    try:
        fragments: list[Any] = write_fragments(
            pa.RecordBatchReader.from_batches(task.definition.schema, _noting(aligned(batches), failures)),
            task.view.location,
            schema=task.definition.schema,
            mode="append",
            max_rows_per_file=task.rows_per_file,
            storage_options=dict(task.view.storage_options),
        )
    except OSError:
        if failures:
            raise failures[0] from None
        raise
    return fragments


def _noting(batches: Iterable[pa.RecordBatch], failures: list[Exception]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except Exception as error:
        failures.append(error)
        raise


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

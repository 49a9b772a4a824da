"""The part of a refresh that may run elsewhere: compute some rows of a view, and write them to files of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from lance.fragment import write_fragments

from lancespace.alignment import aligned
from lancespace.errors import translated
from lancespace.views import calls, queries
from lancespace.views.conform import conform
from lancespace.views.definition import CHUNKER, Definition
from lancespace.views.sources import Source

if TYPE_CHECKING:
    from lancespace.views.definition import Call


@dataclass(frozen=True)
class Target:
    """Where the rows go."""

    name: str
    location: str
    storage_options: Mapping[str, str] = field(repr=False)
    rows_per_file: int


@dataclass(frozen=True)
class Task:
    """So much of a view's rows; picklable, for any process."""

    key: str
    definition: Definition
    sources: tuple[Source, ...]
    target: Target
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
    with translated(f"refresh the view {task.target.name!r}"):
        tables = _first(_rows(task), task.limit)
        batches = chain.from_iterable(table.to_batches() for table in tables)
        fragments = _write(batches, task)
    return {"fragments": [fragment.to_json() for fragment in fragments]}


def _rows(task: Task) -> Iterator[pa.Table]:
    schema, call = task.definition.schema, task.definition.call
    if call is None:
        return (conform(batch, schema, "The query") for batch in _query(task))
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
    """So many rows of the tables, or all; no more of them are computed than it takes."""
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
            task.target.location,
            schema=task.definition.schema,
            mode="append",
            max_rows_per_file=task.target.rows_per_file,
            storage_options=dict(task.target.storage_options),
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

"""Queries over tables that the caller opens: what a materialized view is made with.

Everything here sees a table through the function that opens it, so whoever calls decides at which version; a table is
opened once for a statement, however often it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import lance
import pyarrow as pa
from datafusion import DataFrame, SessionContext, col, lit
from datafusion.catalog import Table
from datafusion.plan import LogicalPlan
from lance_namespace import InvalidInputError

from lancespace_sql.catalog import Notes, context_over
from lancespace_sql.query import planned, streamed

_ROW_BY_ROW = {"Projection", "Filter", "SubqueryAlias", "Unnest", "TableScan"}
"""Steps whose result for a table is the sum of their results for its rows."""
_SUBQUERY = "<subquery>"
"""How a plan shows an expression that looks at another table, or at the whole of this one."""

Names = tuple[str, ...]
Opener = Callable[[Names], lance.LanceDataset]
"""Opens a table; raises TableNotFoundError or NamespaceNotFoundError if it is not there."""


@dataclass(frozen=True)
class Planned:
    """What a query is, before it is run."""

    schema: pa.Schema
    sources: dict[Names, lance.LanceDataset]
    """The tables it reads, opened."""
    columns: tuple[str, ...] | None
    """The columns it reads, if it looks at one row of one table at a time; otherwise None."""


def plan(statement: str, open_table: Opener) -> Planned:
    """Find out which tables a query reads and what it yields.

    Raises:
        LanceNamespaceError: As :func:`lancespace_sql.sql` does.
    """
    opened: dict[Names, lance.LanceDataset] = {}

    def remember(names: Names) -> Table:
        opened[names] = open_table(names)
        return _scan(opened[names])

    frame = _frame(statement, remember)
    _refuse_what_is_no_select(frame)
    if not _is_row_wise(frame.logical_plan()) or len(opened) != 1:
        return Planned(frame.schema(), opened, None)
    ((names, dataset),) = opened.items()
    without_rows = _frame_over(statement, dataset.schema.empty_table(), dataset.schema)
    columns = _columns_read(without_rows.optimized_logical_plan(), dataset.schema)
    return Planned(frame.schema(), {names: dataset}, columns)


def run(statement: str, open_table: Opener) -> pa.RecordBatchReader:
    """Run a query over whole tables and stream the result."""
    return streamed(_frame(statement, lambda names: _scan(open_table(names))))


def run_on_batches(statement: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a row-wise query over some rows of its table, a batch at a time, so that memory does not grow with them.

    ``schema`` is the table's; the batches need only have the columns that the query reads.
    """
    for batch in batches:
        yield from streamed(_frame_over(statement, pa.Table.from_batches([batch]), schema))


def _frame(statement: str, open_table: Callable[[Names], Table]) -> DataFrame:
    notes = Notes()
    return planned(context_over(lambda names: open_table(tuple(names)), notes), statement, notes)


def _frame_over(statement: str, rows: pa.Table, schema: pa.Schema) -> DataFrame:
    """The plan of a query over one table, if that had these rows; columns that they lack are there only by name."""
    frame = SessionContext().from_arrow(rows)
    if rows.num_columns < len(schema):
        known = set(rows.column_names)
        frame = frame.select(
            *(col(_quoted(f.name)) if f.name in known else lit(None).cast(f.type).alias(f.name) for f in schema)
        )
    table = Table(frame)
    return _frame(statement, lambda _: table)


def _refuse_what_is_no_select(frame: DataFrame) -> None:
    kind = frame.logical_plan().display().partition(":")[0].strip()
    if kind in {"Explain", "Analyze", "DescribeTable"}:
        raise InvalidInputError(f"SQL: a view keeps the rows of a SELECT, not of {kind.upper()}.")


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _scan(dataset: lance.LanceDataset) -> Table:
    return Table(lance.FFILanceTableProvider(dataset))


def _is_row_wise(plan: LogicalPlan) -> bool:
    """Whether a plan that is not optimised yet looks at one row of one table at a time: it selects and computes."""
    steps = list(_steps(plan))
    kinds = [type(step.to_variant()).__name__ for step in steps]
    scans = kinds.count("TableScan")
    return scans == 1 and set(kinds) <= _ROW_BY_ROW and not any(_SUBQUERY in step.display() for step in steps)


def _columns_read(plan: LogicalPlan, schema: pa.Schema) -> tuple[str, ...]:
    """The columns that an optimised plan over one table takes from it; at least one, for the rows to be counted."""
    scans = [step.to_variant() for step in _steps(plan) if type(step.to_variant()).__name__ == "TableScan"]
    read = {column[1] if isinstance(column, tuple) else str(column) for scan in scans for column in scan.projection()}
    return tuple(name for name in schema.names if name in read) or (schema.names[0],)


def _steps(plan: Any) -> Iterator[Any]:
    yield plan
    for step in plan.inputs():
        yield from _steps(step)

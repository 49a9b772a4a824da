"""Queries over tables that the caller opens: what a materialized view is made with.

Everything here sees a table through the function that opens it, so whoever calls decides at which version; a table is
opened once for a statement, however often it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from datafusion import SessionConfig, SessionContext, col, lit
from datafusion.catalog import CatalogProvider, CatalogProviderList, SchemaProvider, Table
from lance_namespace import InvalidInputError, NamespaceNotFoundError, TableNotFoundError

from lancespace import identifiers
from lancespace_sql.notes import Notes
from lancespace_sql.query import planned, streamed
from lancespace_sql.shapes import columns_read, is_row_wise

if TYPE_CHECKING:
    from datafusion import DataFrame

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

    frame = _frame(statement, _PinnedTables(remember))
    _refuse_what_is_no_select(frame)
    if not is_row_wise(frame.logical_plan()) or len(opened) != 1:
        return Planned(frame.schema(), opened, None)
    ((names, dataset),) = opened.items()
    without_rows = _frame_over(statement, dataset.schema.empty_table(), dataset.schema)
    columns = columns_read(without_rows.optimized_logical_plan(), dataset.schema)
    return Planned(frame.schema(), {names: dataset}, columns)


def run(statement: str, open_table: Opener) -> pa.RecordBatchReader:
    """Run a query over whole tables and stream the result."""
    return streamed(_frame(statement, _PinnedTables(lambda names: _scan(open_table(names)))))


def run_on_batches(statement: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a row-wise query over some rows of its table, a batch at a time, so that memory does not grow with them.

    ``schema`` is the table's; the batches need only have the columns that the query reads.
    """
    for batch in batches:
        yield from streamed(_frame_over(statement, pa.Table.from_batches([batch]), schema))


def _frame(statement: str, tables: _PinnedTables) -> DataFrame:
    config = SessionConfig().with_create_default_catalog_and_schema(False).with_default_catalog_and_schema("", "")
    context = SessionContext(config)
    context.register_catalog_provider_list(tables)
    return planned(context, statement, tables.notes)


def _frame_over(statement: str, rows: pa.Table, schema: pa.Schema) -> DataFrame:
    """The plan of a query over one table, if that had these rows; columns that they lack are there only by name."""
    frame = SessionContext().from_arrow(rows)
    if rows.num_columns < len(schema):
        known = set(rows.column_names)
        frame = frame.select(
            *(col(_quoted(f.name)) if f.name in known else lit(None).cast(f.type).alias(f.name) for f in schema)
        )
    table = Table(frame)
    return _frame(statement, _PinnedTables(lambda _: table))


def _refuse_what_is_no_select(frame: DataFrame) -> None:
    kind = frame.logical_plan().display().partition(":")[0].strip()
    if kind in {"Explain", "Analyze", "DescribeTable"}:
        raise InvalidInputError(f"SQL: a view keeps the rows of a SELECT, not of {kind.upper()}.")


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _scan(dataset: lance.LanceDataset) -> Table:
    return Table(lance.FFILanceTableProvider(dataset))


class _PinnedTables(CatalogProviderList):
    """All catalogs of one statement; the parts of a name, taken together, are the identifier."""

    def __init__(self, open_table: Callable[[Names], Table]) -> None:
        self.notes = Notes()
        self._open = open_table

    def catalog_names(self) -> set[str]:
        return {""}

    def catalog(self, name: str) -> CatalogProvider:
        return _PinnedCatalog(self, name)

    def find(self, path: tuple[str, ...], table: str) -> Table | None:
        names = tuple(identifiers.parse([name for part in path for name in identifiers.parse(part)] + [table]))
        try:
            return self._open(names)
        except (TableNotFoundError, NamespaceNotFoundError) as error:
            self.notes.missing[".".join((*path, table))] = (list(names), error)
            return None


class _PinnedCatalog(CatalogProvider):
    def __init__(self, tables: _PinnedTables, path: str) -> None:
        self._tables = tables
        self._path = path

    def schema_names(self) -> set[str]:
        return {""}

    def schema(self, name: str) -> Any:
        return _PinnedSchema(self._tables, self._path, name)


class _PinnedSchema(SchemaProvider):
    def __init__(self, tables: _PinnedTables, *path: str) -> None:
        self._tables = tables
        self._path = path

    def table_names(self) -> set[str]:
        return set()

    def table_exist(self, name: str) -> bool:
        return self.table(name) is not None

    def table(self, name: str) -> Any:
        return self._tables.find(self._path, name)

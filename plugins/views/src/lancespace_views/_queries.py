"""The queries of views, and the tables that they read, each pinned at one version.

They are run by the plugin ``lancespace[sql]``, which is loaded when a view is created or refreshed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from lance_namespace import UnsupportedOperationError

from lancespace.authoring import fingerprint, registry
from lancespace_tables import TableLocation

if TYPE_CHECKING:
    from lancespace_sql.pinned import Opener, Planned


def plan(sql: str, open_table: Opener) -> Planned:
    """Which tables a query reads, and what it yields; each table is opened once."""
    planned: Planned = _engine().plan(sql, open_table)
    return planned


def run(sql: str, sources: Sequence[Source]) -> pa.RecordBatchReader:
    """The rows of a query over its sources, each at the version it is pinned at."""
    pinned = {source.names: source for source in sources}
    return _engine().run(sql, lambda names: pinned[names].open())


def run_on_batches(sql: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a row-wise query over some rows of its source."""
    rows: Iterator[pa.RecordBatch] = _engine().run_on_batches(sql, schema, batches)
    return rows


def _engine() -> Any:
    try:
        from lancespace_sql import pinned
    except ModuleNotFoundError as error:
        if error.name != "lancespace_sql":
            raise
        raise UnsupportedOperationError(
            f"Materialized views need lancespace-sql, which runs their queries: {registry.install_hint('sql')}"
        ) from error
    return pinned


@dataclass(frozen=True)
class Source:
    """A table at a version; picklable, for any process."""

    table: TableLocation
    version: int

    @property
    def names(self) -> tuple[str, ...]:
        """The identifier of the table."""
        return self.table.id

    def open(self) -> lance.LanceDataset:
        """The table, at this version."""
        return self.table.open(self.version)


def fragment_keys(dataset: lance.LanceDataset) -> dict[int, str]:
    """For every fragment a key that changes whenever any of its rows may have: by an update, a delete, a new column.

    Files are never written twice, so their names stand for their content. A renamed column keeps its files, so the
    columns are part of the key.
    """
    columns = list(_columns(dataset.lance_schema.fields()))
    return {
        fragment.fragment_id: fingerprint(columns, str(fragment.metadata.to_json()))
        for fragment in dataset.get_fragments()
    }


def table_key(dataset: lance.LanceDataset) -> str:
    """A key that changes whenever the rows of the table may have."""
    return fingerprint(list(_columns(dataset.lance_schema.fields())), sorted(fragment_keys(dataset).values()))


def _columns(fields: list[Any]) -> Iterator[list[Any]]:
    for each in fields:
        yield [each.name(), each.id(), list(_columns(each.children()))]

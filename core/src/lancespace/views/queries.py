"""The queries of views, run by the plugin ``lancespace[sql]``, which is loaded when a view is created or refreshed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace import UnsupportedOperationError

from lancespace.registry import install_hint

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace.views.sources import Source
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
            f"Materialized views need lancespace-sql, which runs their queries: {install_hint('sql')}"
        ) from error
    return pinned

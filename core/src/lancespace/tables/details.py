"""What DescribeTable tells about a table once it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_urllib3_client.models.table_basic_stats import TableBasicStats

from lancespace.errors import translated
from lancespace.tables.access import name_of
from lancespace.tables.jsonarrow import schema_to_json

if TYPE_CHECKING:
    import lance
    from lance_namespace import DescribeTableRequest


def table_details(dataset: lance.LanceDataset, request: DescribeTableRequest) -> dict[str, Any]:
    """The fields of ``DescribeTableResponse`` that need the dataset, by name.

    ``metadata`` is Lance's summary of the version (``total_rows``, ``total_files_size``, ...) and over it what users
    put into the table's own metadata.
    """
    with translated(f"describe table {name_of(request)!r}"):
        stats = dataset.stats.dataset_stats()
        return {
            "version": dataset.version,
            "var_schema": schema_to_json(dataset.schema),
            "stats": TableBasicStats(num_deleted_rows=stats["num_deleted_rows"], num_fragments=stats["num_fragments"]),
            "metadata": {**dataset.get_version()["metadata"], **dataset.metadata},
        }

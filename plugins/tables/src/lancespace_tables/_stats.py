"""Figures about a table as it is stored, and what DescribeTable tells of one that is opened."""

from __future__ import annotations

from typing import Any

import lance
from lance_namespace import DescribeTableRequest, GetTableStatsRequest, GetTableStatsResponse
from lance_namespace_urllib3_client.models.fragment_stats import FragmentStats
from lance_namespace_urllib3_client.models.fragment_summary import FragmentSummary
from lance_namespace_urllib3_client.models.table_basic_stats import TableBasicStats

from lancespace.authoring import hookimpl, translated
from lancespace_tables._access import OperationGroup, name_of
from lancespace_tables._json_schema import schema_to_json

_FULL_FRAGMENT_ROWS = 1024 * 1024
"""What pylance compacts to by default; a fragment with less is "small"."""


class StatsOperations(OperationGroup):
    """get_table_stats."""

    @hookimpl
    def get_table_stats(self, request: GetTableStatsRequest) -> GetTableStatsResponse:
        """Bytes, live rows, indexes and fragments of the latest version."""
        with self.opened(request, "read statistics of") as dataset:
            return GetTableStatsResponse(
                total_bytes=sum(field.bytes_on_disk for field in dataset.stats.data_stats().fields),
                num_rows=dataset.count_rows(),
                num_indices=len(dataset.describe_indices()),
                fragment_stats=_fragment_stats(dataset),
            )


def _fragment_stats(dataset: lance.LanceDataset) -> FragmentStats:
    lengths = sorted(fragment.metadata.num_rows for fragment in dataset.get_fragments())
    return FragmentStats(
        num_fragments=len(lengths),
        num_small_fragments=sum(length < _FULL_FRAGMENT_ROWS for length in lengths),
        lengths=_summary(lengths),
    )


def _summary(lengths: list[int]) -> FragmentSummary:
    """The distribution of sorted lengths; a percentile is the largest length not above its rank."""
    if not lengths:
        return FragmentSummary(min=0, max=0, mean=0, p25=0, p50=0, p75=0, p99=0)
    percentiles = {f"p{percent}": lengths[percent * (len(lengths) - 1) // 100] for percent in (25, 50, 75, 99)}
    return FragmentSummary(min=lengths[0], max=lengths[-1], mean=sum(lengths) // len(lengths), **percentiles)


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

"""Figures about a table as it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import GetTableStatsRequest, GetTableStatsResponse
from lance_namespace_urllib3_client.models.fragment_stats import FragmentStats
from lance_namespace_urllib3_client.models.fragment_summary import FragmentSummary

from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, name_of

if TYPE_CHECKING:
    import lance

_FULL_FRAGMENT_ROWS = 1024 * 1024
"""What pylance compacts to unless told otherwise; a fragment with less is "small"."""


class StatsOperations(TableAccess):
    """get_table_stats."""

    @hookimpl
    def get_table_stats(self, request: GetTableStatsRequest) -> GetTableStatsResponse:
        """Bytes, live rows, indexes and fragments of the latest version."""
        dataset = self.open(request)
        with translated(f"statistics of table {name_of(request)!r}"):
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

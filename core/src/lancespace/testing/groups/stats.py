"""Figures about a table."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, sample


class StatsTests(BackendFixtures):
    """GetTableStats."""

    @covers("get_table_stats")
    @needs("create_table", "insert_into_table", "create_table_scalar_index")
    def test_table_stats(self, client: Client) -> None:
        """GetTableStats: the rows, the bytes, the indices, and how the rows spread over the fragments."""
        client("create_table", sample(), id=["t"])
        client("insert_into_table", sample(0, 2), id=["t"])
        client.example("create_table_scalar_index", ["t"])
        stats = client("get_table_stats", id=["t"])
        assert (stats.num_rows, stats.num_indices) == (COUNT + 2, 1)
        assert stats.total_bytes > 0
        lengths = stats.fragment_stats.lengths
        assert (stats.fragment_stats.num_fragments, lengths.min, lengths.max) == (2, 2, COUNT)

    @needs("get_table_stats", "create_table", "delete_from_table")
    def test_stats_without_deleted_rows(self, client: Client) -> None:
        """GetTableStats: deleted rows do not count."""
        client("create_table", sample(), id=["t"])
        client("delete_from_table", id=["t"], predicate="id < 2")
        assert client("get_table_stats", id=["t"]).num_rows == COUNT - 2

    @needs("get_table_stats", "create_table", "create_table_branch", "insert_into_table")
    def test_stats_of_branch(self, client: Client) -> None:
        """GetTableStats: with a branch, the figures of that branch."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(0, 2), id=["t"])
        assert client("get_table_stats", id=["t"], branch="dev").num_rows == COUNT
        assert client("get_table_stats", id=["t"]).num_rows == COUNT + 2

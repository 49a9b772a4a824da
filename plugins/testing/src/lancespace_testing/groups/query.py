"""Reading a table: queries by filter, vector and text, their plans, and statistics."""

from __future__ import annotations

from typing import Any

from lancespace_testing.client import Client
from lancespace_testing.examples import ALL_ROWS
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import covers
from lancespace_testing.samples import COUNT, SCHEMA, sample, unfile

_SEARCH = {"vector": {"single_vector": [1.0, 0.0]}, "k": 2, "filter": "id > 1"}


class QueryTests(BackendFixtures):
    """QueryTable, ExplainTableQueryPlan, AnalyzeTableQueryPlan, GetTableStats."""

    @covers("query_table")
    def test_query_all_rows(self, table: Client) -> None:
        """QueryTable: without a vector and a text, all rows with all columns, as an Arrow IPC file."""
        found = unfile(table("query_table", **ALL_ROWS).data)
        assert found.schema.names == SCHEMA.names
        assert found.sort_by("id").to_pylist() == sample().to_pylist()

    def test_query_filter(self, table: Client) -> None:
        """QueryTable: with a filter, the rows for which it is true; none of them is an empty answer, not an error."""
        assert table.ids(filter="id > 1 AND name LIKE '%pear'") == [2, 3]
        assert table.ids(filter="id > 100") == []

    def test_query_columns(self, table: Client) -> None:
        """QueryTable: with column_names, only those columns, whatever the filter looks at."""
        found = table.rows(columns={"column_names": ["name"]}, filter="id = 4")
        assert found == [{"name": "yellow lemon"}]

    def test_query_column_aliases(self, table: Client) -> None:
        """QueryTable: with column_aliases, the columns under the names that they are given."""
        found = table.rows(columns={"column_aliases": {"number": "id", "label": "name"}}, filter="id = 4")
        assert found == [{"number": 4, "label": "yellow lemon"}]

    def test_query_limit_and_offset(self, table: Client) -> None:
        """QueryTable: at most k rows, after leaving out offset of them; together the pages are the table."""
        assert len(table.ids(k=2)) == 2
        pages = [table.ids(k=2, offset=offset) for offset in range(0, COUNT + 2, 2)]
        assert sorted(number for page in pages for number in page) == list(range(COUNT))
        assert pages[-1] == []

    def test_query_row_ids(self, table: Client) -> None:
        """QueryTable: with with_row_id, a column _rowid with a value of its own for every row; otherwise none."""
        found = table.rows(with_row_id=True)
        assert len({each["_rowid"] for each in found}) == COUNT
        assert "_rowid" not in table.rows()[0]

    def test_query_version(self, client: Client) -> None:
        """QueryTable: with a version, the rows as they were then."""
        client("create_table", sample(0, 2))
        client("insert_into_table", sample(2, 4))
        assert (client.ids(version=1), client.ids(version=2)) == ([0, 1], [0, 1, 2, 3])

    def test_query_vector(self, table: Client) -> None:
        """QueryTable: with a vector, the k nearest rows with their distances, nearest first."""
        found = _nearest(table, [4.1, 0.0], k=3)
        assert [each["id"] for each in found] == [4, 5, 3]
        distances = [each["_distance"] for each in found]
        assert distances == sorted(distances)

    def test_query_vector_with_filter(self, table: Client) -> None:
        """QueryTable: with prefilter, the nearest of those for which the filter is true."""
        found = _nearest(table, [4.1, 0.0], k=2, filter="id < 3", prefilter=True)
        assert [each["id"] for each in found] == [2, 1]

    def test_query_vector_options(self, table: Client) -> None:
        """QueryTable: the vector column may be named, the distance chosen, the distances bounded, results skipped."""
        assert [each["id"] for each in _nearest(table, [4.1, 0.0], k=2, vector_column="vector", offset=1)] == [5, 3]
        assert _nearest(table, [1.0, 0.0], k=1, distance_type="dot")[0]["id"] == COUNT - 1
        bounded = _nearest(table, [0.0, 0.0], k=COUNT, lower_bound=1.0, upper_bound=9.0)
        assert [each["id"] for each in bounded] == [1, 2]

    def test_query_vector_through_index(self, table: Client) -> None:
        """QueryTable: through an index or past it, the same nearest row."""
        table.example("create_table_index")
        for options in ({}, {"bypass_vector_index": True}, {"nprobes": 1}):
            assert _nearest(table, [4.1, 0.0], k=1, **options)[0]["id"] == 4

    def test_query_text(self, client: Client) -> None:
        """QueryTable: with a full-text query, the rows whose indexed text has the words."""
        _with_text_index(client)
        found = client.rows(full_text_query={"string_query": {"query": "pear", "columns": ["name"]}})
        assert [each["id"] for each in found] == [2, 3]
        assert client.ids(full_text_query={"string_query": {"query": "pear"}}, filter="id > 2") == [3]

    def test_query_structured_text(self, client: Client) -> None:
        """QueryTable: a structured full-text query combines conditions on the words."""
        _with_text_index(client)
        both = {"match": {"terms": "red pear", "column": "name", "operator": "And"}}
        assert client.ids(full_text_query={"structured_query": {"query": both}}) == [2]

    def test_query_branch(self, client: Client) -> None:
        """QueryTable: with a branch, the rows of that branch."""
        client("create_table", sample(0, 2))
        client("create_table_branch", name="dev")
        client("insert_into_table", sample(2, 4))
        assert (client.ids(), client.ids(branch="dev")) == ([0, 1, 2, 3], [0, 1])

    @covers("explain_table_query_plan")
    def test_explain_query(self, table: Client) -> None:
        """ExplainTableQueryPlan: a text that tells how this query is executed, so another one for another query."""
        scan = table("explain_table_query_plan", query=ALL_ROWS)
        search = table("explain_table_query_plan", query=_SEARCH, verbose=True)
        assert isinstance(scan, str)
        assert scan.strip()
        assert search != scan

    @covers("analyze_table_query_plan")
    def test_analyze_query(self, table: Client) -> None:
        """AnalyzeTableQueryPlan: the plan as it was executed, with what was measured."""
        scan = table("analyze_table_query_plan", **ALL_ROWS)
        search = table("analyze_table_query_plan", **_SEARCH)
        assert isinstance(scan, str)
        assert scan.strip()
        assert search != scan

    @covers("get_table_stats")
    def test_table_stats(self, table: Client) -> None:
        """GetTableStats: the rows, the bytes, the indices, and how the rows spread over the fragments."""
        table("insert_into_table", sample(0, 2))
        table.example("create_table_scalar_index")
        stats = table("get_table_stats")
        assert (stats.num_rows, stats.num_indices) == (COUNT + 2, 1)
        assert stats.total_bytes > 0
        lengths = stats.fragment_stats.lengths
        assert (stats.fragment_stats.num_fragments, lengths.min, lengths.max) == (2, 2, COUNT)

    def test_stats_without_deleted_rows(self, table: Client) -> None:
        """GetTableStats: deleted rows do not count."""
        table("delete_from_table", predicate="id < 2")
        assert table("get_table_stats").num_rows == COUNT - 2

    def test_stats_of_branch(self, table: Client) -> None:
        """GetTableStats: with a branch, the figures of that branch."""
        table("create_table_branch", name="dev")
        table("insert_into_table", sample(0, 2))
        assert table("get_table_stats", branch="dev").num_rows == COUNT
        assert table("get_table_stats").num_rows == COUNT + 2


def _nearest(client: Client, vector: list[float], **fields: Any) -> list[dict[str, Any]]:
    """The rows in the order of the answer, which is that of the distances."""
    answer = client("query_table", vector={"single_vector": vector}, **fields)
    found: list[dict[str, Any]] = unfile(answer.data).to_pylist()
    return found


def _with_text_index(client: Client) -> None:
    client("create_table", sample())
    client("create_table_scalar_index", column="name", index_type="FTS", name="name_idx")

"""Querying a table: filters, columns, vectors and text."""

from __future__ import annotations

from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.examples import ALL_ROWS
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, SCHEMA, sample, unfile


class QueryTests(BackendFixtures):
    """QueryTable."""

    @covers("query_table")
    @needs("create_table")
    def test_query_all_rows(self, client: Client) -> None:
        """QueryTable: without a vector and a text, all rows with all columns, as an Arrow IPC file."""
        client("create_table", sample(), id=["t"])
        found = unfile(client("query_table", id=["t"], **ALL_ROWS).data)
        assert found.schema.names == SCHEMA.names
        assert found.sort_by("id").to_pylist() == sample().to_pylist()

    @needs("create_table", "query_table")
    def test_query_filter(self, client: Client) -> None:
        """QueryTable: with a filter, the rows for which it is true; none of them is an empty answer, not an error."""
        client("create_table", sample(), id=["t"])
        assert client.ids(["t"], filter="id > 1 AND name LIKE '%pear'") == [2, 3]
        assert client.ids(["t"], filter="id > 100") == []

    @needs("create_table", "query_table")
    def test_query_columns(self, client: Client) -> None:
        """QueryTable: with column_names, only those columns, whatever the filter looks at."""
        client("create_table", sample(), id=["t"])
        found = client.rows(["t"], columns={"column_names": ["name"]}, filter="id = 4")
        assert found == [{"name": "yellow lemon"}]

    @needs("create_table", "query_table")
    def test_query_column_aliases(self, client: Client) -> None:
        """QueryTable: with column_aliases, the columns under the names that they are given."""
        client("create_table", sample(), id=["t"])
        found = client.rows(["t"], columns={"column_aliases": {"number": "id", "label": "name"}}, filter="id = 4")
        assert found == [{"number": 4, "label": "yellow lemon"}]

    @needs("create_table", "query_table")
    def test_query_limit_and_offset(self, client: Client) -> None:
        """QueryTable: at most k rows, after leaving out offset of them; together the pages are the table."""
        client("create_table", sample(), id=["t"])
        assert len(client.ids(["t"], k=2)) == 2
        pages = [client.ids(["t"], k=2, offset=offset) for offset in range(0, COUNT + 2, 2)]
        assert sorted(number for page in pages for number in page) == list(range(COUNT))
        assert pages[-1] == []

    @needs("create_table", "query_table")
    def test_query_row_ids(self, client: Client) -> None:
        """QueryTable: with with_row_id, a column _rowid with a value of its own for every row; otherwise none."""
        client("create_table", sample(), id=["t"])
        found = client.rows(["t"], with_row_id=True)
        assert len({each["_rowid"] for each in found}) == COUNT
        assert "_rowid" not in client.rows(["t"])[0]

    @needs("create_table", "insert_into_table", "query_table")
    def test_query_version(self, client: Client) -> None:
        """QueryTable: with a version, the rows as they were then."""
        client("create_table", sample(0, 2), id=["t"])
        client("insert_into_table", sample(2, 4), id=["t"])
        assert (client.ids(["t"], version=1), client.ids(["t"], version=2)) == ([0, 1], [0, 1, 2, 3])

    @needs("create_table", "query_table")
    def test_query_vector(self, client: Client) -> None:
        """QueryTable: with a vector, the k nearest rows with their distances, nearest first."""
        client("create_table", sample(), id=["t"])
        found = _nearest(client, [4.1, 0.0], k=3)
        assert [each["id"] for each in found] == [4, 5, 3]
        distances = [each["_distance"] for each in found]
        assert distances == sorted(distances)

    @needs("create_table", "query_table")
    def test_query_vector_with_filter(self, client: Client) -> None:
        """QueryTable: with prefilter, the nearest of those for which the filter is true."""
        client("create_table", sample(), id=["t"])
        found = _nearest(client, [4.1, 0.0], k=2, filter="id < 3", prefilter=True)
        assert [each["id"] for each in found] == [2, 1]

    @needs("create_table", "query_table")
    def test_query_vector_options(self, client: Client) -> None:
        """QueryTable: the vector column may be named, the distance chosen, the distances bounded, results skipped."""
        client("create_table", sample(), id=["t"])
        assert [each["id"] for each in _nearest(client, [4.1, 0.0], k=2, vector_column="vector", offset=1)] == [5, 3]
        assert _nearest(client, [1.0, 0.0], k=1, distance_type="dot")[0]["id"] == COUNT - 1
        bounded = _nearest(client, [0.0, 0.0], k=COUNT, lower_bound=1.0, upper_bound=9.0)
        assert [each["id"] for each in bounded] == [1, 2]

    @needs("create_table", "query_table", "create_table_index")
    def test_query_vector_through_index(self, client: Client) -> None:
        """QueryTable: through an index or past it, the same nearest row."""
        client("create_table", sample(), id=["t"])
        client.example("create_table_index", ["t"])
        for options in ({}, {"bypass_vector_index": True}, {"nprobes": 1}):
            assert _nearest(client, [4.1, 0.0], k=1, **options)[0]["id"] == 4

    @needs("create_table", "create_table_scalar_index", "query_table")
    def test_query_text(self, client: Client) -> None:
        """QueryTable: with a full-text query, the rows whose indexed text has the words."""
        _with_text_index(client)
        found = client.rows(["t"], full_text_query={"string_query": {"query": "pear", "columns": ["name"]}})
        assert [each["id"] for each in found] == [2, 3]
        assert client.ids(["t"], full_text_query={"string_query": {"query": "pear"}}, filter="id > 2") == [3]

    @needs("create_table", "create_table_scalar_index", "query_table")
    def test_query_structured_text(self, client: Client) -> None:
        """QueryTable: a structured full-text query combines conditions on the words."""
        _with_text_index(client)
        both = {"match": {"terms": "red pear", "column": "name", "operator": "And"}}
        assert client.ids(["t"], full_text_query={"structured_query": {"query": both}}) == [2]

    @needs("create_table", "create_table_branch", "insert_into_table", "query_table")
    def test_query_branch(self, client: Client) -> None:
        """QueryTable: with a branch, the rows of that branch."""
        client("create_table", sample(0, 2), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(2, 4), id=["t"])
        assert (client.ids(["t"]), client.ids(["t"], branch="dev")) == ([0, 1, 2, 3], [0, 1])

    @covers("query_table", "INVALID_INPUT")
    @needs("create_table")
    def test_query_refused(self, client: Client) -> None:
        """QueryTable: code 13 for a filter that is no SQL, a vector of the wrong size, names together with aliases."""
        client("create_table", sample(), id=["t"])
        for fields in (
            {"filter": "id = = 1"},
            {"vector": {"single_vector": [1.0, 2.0, 3.0]}},
            {"vector": {"single_vector": [1.0, 2.0]}, "vector_column": "name"},
            {"vector": {"single_vector": [1.0, 2.0]}, "distance_type": "no such distance"},
            {"columns": {"column_names": ["id"], "column_aliases": {"number": "id"}}},
        ):
            with raises("INVALID_INPUT"):
                client("query_table", **{"id": ["t"], **ALL_ROWS, **fields})

    @covers("query_table", "TABLE_COLUMN_NOT_FOUND")
    @needs("create_table")
    def test_query_missing_columns(self, client: Client) -> None:
        """QueryTable: code 12 wherever a query can name a column that is not there."""
        client("create_table", sample(), id=["t"])
        for fields in (
            {"filter": "absent = 1"},
            {"columns": {"column_aliases": {"number": "absent"}}},
            {"vector": {"single_vector": [1.0, 2.0]}, "vector_column": "absent"},
        ):
            with raises("TABLE_COLUMN_NOT_FOUND"):
                client("query_table", **{"id": ["t"], **ALL_ROWS, **fields})


def _nearest(client: Client, vector: list[float], **fields: Any) -> list[dict[str, Any]]:
    """The rows in the order of the answer, which is that of the distances."""
    answer = client("query_table", id=["t"], vector={"single_vector": vector}, **fields)
    found: list[dict[str, Any]] = unfile(answer.data).to_pylist()
    return found


def _with_text_index(client: Client) -> None:
    client("create_table", sample(), id=["t"])
    client("create_table_scalar_index", id=["t"], column="name", index_type="FTS", name="name_idx")

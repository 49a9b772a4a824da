"""Indexes."""

from __future__ import annotations

from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.examples import INDEX
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, sample
from lancespace.testing.waiting import until


class IndexTests(BackendFixtures):
    """CreateTableIndex, CreateTableScalarIndex, ListTableIndices, DescribeTableIndexStats, DropTableIndex.

    An index may be built after the answer, so the tests wait for it in the listing, as the spec tells clients to.
    """

    @covers("create_table_scalar_index")
    @covers("list_table_indices")
    @needs("create_table")
    def test_create_scalar_index(self, client: Client) -> None:
        """CreateTableScalarIndex: the index is listed with its name, column and type."""
        client("create_table", sample(), id=["t"])
        for column, kind in (("id", "BTREE"), ("name", "BITMAP")):
            client("create_table_scalar_index", id=["t"], column=column, index_type=kind, name=f"{column}_idx")
            found = _built(client, f"{column}_idx")
            assert found.columns == [column]
            assert found.index_uuid
            assert found.index_type.upper() == kind

    @covers("create_table_index")
    @needs("create_table", "list_table_indices", "describe_table_index_stats")
    def test_create_vector_index(self, client: Client) -> None:
        """CreateTableIndex: a vector index has its distance in the statistics."""
        client("create_table", sample(), id=["t"])
        options = {"index_type": "IVF_FLAT", "num_partitions": 1, "distance_type": "cosine"}
        client("create_table_index", id=["t"], column="vector", name="vector_idx", **options)
        assert _built(client, "vector_idx").columns == ["vector"]
        stats = client("describe_table_index_stats", id=["t"], index_name="vector_idx")
        assert stats.index_type.upper() == "IVF_FLAT"
        assert stats.distance_type is not None
        assert stats.distance_type.lower() == "cosine"

    @needs("create_table_index", "create_table", "list_table_indices")
    def test_create_scalar_index_as_index(self, client: Client) -> None:
        """CreateTableIndex: it builds scalar and text indexes too, and finds a name if none is given."""
        client("create_table", sample(), id=["t"])
        client("create_table_index", id=["t"], column="id", index_type="BTREE")
        client("create_table_index", id=["t"], column="name", index_type="FTS", with_position=True, language="English")
        found = until(lambda: client("list_table_indices", id=["t"]).indexes, lambda indexes: len(indexes) == 2)
        assert sorted(index.columns[0] for index in found) == ["id", "name"]
        assert all(index.index_name for index in found)

    @covers("create_table_scalar_index", "TABLE_INDEX_ALREADY_EXISTS")
    @covers("create_table_index", "TABLE_INDEX_ALREADY_EXISTS")
    @needs("create_table", "list_table_indices")
    def test_create_existing_index(self, client: Client) -> None:
        """CreateTableIndex, CreateTableScalarIndex: code 7 if the table has an index of that name."""
        client("create_table", sample(), id=["t"])
        client.example("create_table_scalar_index", ["t"])
        _built(client, INDEX)
        for operation in ("create_table_scalar_index", "create_table_index"):
            with client.unchanged(), raises("TABLE_INDEX_ALREADY_EXISTS"):
                client(operation, id=["t"], column="id", index_type="BTREE", name=INDEX)

    @covers("create_table_scalar_index", "INVALID_INPUT")
    @covers("create_table_index", "INVALID_INPUT")
    @needs("create_table")
    def test_create_index_refused(self, client: Client) -> None:
        """CreateTableIndex, CreateTableScalarIndex: code 13 for a type that does not exist, or not for that column."""
        client("create_table", sample(), id=["t"])
        for operation, column, kind in (
            ("create_table_index", "id", "NO_SUCH_TYPE"),
            ("create_table_index", "name", "IVF_FLAT"),
            ("create_table_scalar_index", "id", "NO_SUCH_TYPE"),
            ("create_table_scalar_index", "vector", "IVF_FLAT"),
        ):
            with client.unchanged(), raises("INVALID_INPUT"):
                client(operation, id=["t"], column=column, index_type=kind, name="some_idx")

    @covers("describe_table_index_stats")
    @needs("create_table", "create_table_scalar_index", "insert_into_table", "list_table_indices")
    def test_index_stats(self, client: Client) -> None:
        """DescribeTableIndexStats: how many rows are indexed, and how many came later."""
        client("create_table", sample(), id=["t"])
        client.example("create_table_scalar_index", ["t"])
        _built(client, INDEX)
        client("insert_into_table", sample(0, 2), id=["t"])
        stats = client("describe_table_index_stats", id=["t"], index_name=INDEX)
        assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (COUNT, 2)
        assert stats.index_type.upper() == "BTREE"

    @needs("create_table", "create_table_scalar_index", "insert_into_table", "list_table_indices")
    @needs("describe_table_index_stats")
    def test_indexes_at_version(self, client: Client) -> None:
        """ListTableIndices, DescribeTableIndexStats: with a version, the indexes that the table had then."""
        client("create_table", sample(), id=["t"])
        client.example("create_table_scalar_index", ["t"])
        _built(client, INDEX)
        assert client("list_table_indices", id=["t"], version=1).indexes == []
        with raises("TABLE_INDEX_NOT_FOUND"):
            client("describe_table_index_stats", id=["t"], version=1, index_name=INDEX)

    @covers("drop_table_index")
    @needs("create_table", "create_table_scalar_index", "list_table_indices", "query_table")
    def test_drop_index(self, client: Client) -> None:
        """DropTableIndex: the index is gone, the data is not, and the name is free again."""
        client("create_table", sample(), id=["t"])
        client.example("create_table_scalar_index", ["t"])
        _built(client, INDEX)
        client("drop_table_index", id=["t"], index_name=INDEX)
        assert client("list_table_indices", id=["t"]).indexes == []
        assert client.ids(["t"], filter="id = 3") == [3]
        client.example("create_table_scalar_index", ["t"])
        _built(client, INDEX)

    @covers("drop_table_index", "TABLE_INDEX_NOT_FOUND")
    @covers("describe_table_index_stats", "TABLE_INDEX_NOT_FOUND")
    @needs("create_table")
    def test_missing_index(self, client: Client) -> None:
        """DropTableIndex, DescribeTableIndexStats: code 6 if the table has no such index."""
        client("create_table", sample(), id=["t"])
        for operation in ("drop_table_index", "describe_table_index_stats"):
            with client.unchanged(), raises("TABLE_INDEX_NOT_FOUND"):
                client(operation, id=["t"], index_name="absent")

    @needs("create_table", "create_table_branch", "create_table_scalar_index", "list_table_indices")
    @needs("drop_table_index")
    def test_index_of_branch(self, client: Client) -> None:
        """CreateTableScalarIndex: an index that is built on a branch is that branch's alone."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client.example("create_table_scalar_index", ["t"], branch="dev")
        _built(client, INDEX, branch="dev")
        assert client("list_table_indices", id=["t"]).indexes == []
        client("drop_table_index", id=["t"], branch="dev", index_name=INDEX)
        assert client("list_table_indices", id=["t"], branch="dev").indexes == []


def _built(client: Client, name: str, **fields: Any) -> Any:
    """The index as it is listed, once it is."""

    def look() -> Any:
        listed = client("list_table_indices", id=["t"], **fields).indexes
        return next((index for index in listed if index.index_name == name), None)

    return until(look, lambda index: index is not None)

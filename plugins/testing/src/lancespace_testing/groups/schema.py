"""Columns, the metadata of the schema, and indexes."""

from __future__ import annotations

import hashlib
from typing import Any

from lancespace_testing.client import Client
from lancespace_testing.examples import INDEX
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import covers
from lancespace_testing.samples import COUNT, sample
from lancespace_testing.waiting import until


class SchemaTests(BackendFixtures):
    """What a table has beside rows.

    An index may be built after the answer, so the tests wait for it in the listing, as the spec tells clients to.
    """

    @covers("alter_table_add_columns")
    def test_add_columns(self, table: Client) -> None:
        """AlterTableAddColumns: the columns have the values of their expressions; the answer has the version."""
        columns = [{"name": "twice", "expression": "id * 2"}, {"name": "loud", "expression": "upper(name)"}]
        assert table("alter_table_add_columns", new_columns=columns).version == 2
        found = table.rows()
        assert [each["twice"] for each in found] == [number * 2 for number in range(COUNT)]
        assert found[0]["loud"] == "RED APPLE"

    @covers("alter_table_add_columns", "INVALID_INPUT")
    def test_add_virtual_column(self, table: Client) -> None:
        """AlterTableAddColumns: a virtual column is declared without values; code 13 if its checksum is wrong."""
        checksum = hashlib.sha256(b"{}").hexdigest()
        table.refuses("INVALID_INPUT", "alter_table_add_columns", new_columns=[_virtual(checksum[::-1])])
        assert table("alter_table_add_columns", new_columns=[_virtual(checksum)]).version == 2
        assert [each["made"] for each in table.rows()] == [None] * COUNT

    @covers("alter_table_alter_columns")
    def test_alter_columns(self, table: Client) -> None:
        """AlterTableAlterColumns: a new name, a new type, and whether it may be null; the values stay."""
        alterations = [{"path": "name", "rename": "label"}, {"path": "id", "data_type": {"type": "int32"}}]
        assert table("alter_table_alter_columns", alterations=alterations).version == 2
        fields = {field.name: field.type.type for field in _schema(table).fields}
        assert fields["id"] == "int32"
        assert "name" not in fields
        assert table.rows(columns={"column_names": ["id", "label"]})[0] == {"id": 0, "label": "red apple"}

    @covers("alter_table_drop_columns")
    def test_drop_columns(self, table: Client) -> None:
        """AlterTableDropColumns: the columns are gone; the version before still has them."""
        assert table("alter_table_drop_columns", columns=["name", "vector"]).version == 2
        assert table.rows() == [{"id": number} for number in range(COUNT)]
        assert table.rows(version=1) == sample().to_pylist()

    def test_columns_of_branch(self, table: Client) -> None:
        """AlterTableAddColumns, AlterTableAlterColumns, AlterTableDropColumns: on a branch, only that one changes."""
        table("create_table_branch", name="dev")
        for operation in ("alter_table_add_columns", "alter_table_alter_columns"):
            table.example(operation, branch="dev")
        table("alter_table_drop_columns", branch="dev", columns=["vector"])
        assert sorted(table.rows(branch="dev")[0]) == ["id", "label", "twice"]
        assert table.rows() == sample().to_pylist()

    @covers("update_table_schema_metadata")
    def test_schema_metadata(self, table: Client) -> None:
        """UpdateTableSchemaMetadata: what is given replaces what was there, and is answered."""
        for metadata in ({"owner": "me", "purpose": "test"}, {"owner": "you"}):
            done = table("update_table_schema_metadata", metadata=metadata)
            assert done.metadata == metadata
            assert _schema(table).metadata == metadata

    def test_schema_metadata_of_branch(self, table: Client) -> None:
        """UpdateTableSchemaMetadata: on a branch, only that branch's metadata changes."""
        table("create_table_branch", name="dev")
        table("update_table_schema_metadata", branch="dev", metadata={"owner": "me"})
        assert _schema(table, branch="dev").metadata == {"owner": "me"}
        assert not _schema(table).metadata

    @covers("update_field_metadata")
    def test_field_metadata(self, table: Client) -> None:
        """UpdateFieldMetadata: merged into what is there; null deletes a key, replace all the others."""
        for update, expected in (
            ({"metadata": {"unit": "words", "lang": "en"}}, {"unit": "words", "lang": "en"}),
            ({"metadata": {"unit": None, "more": "x"}}, {"lang": "en", "more": "x"}),
            ({"metadata": {"only": "this"}, "replace": True}, {"only": "this"}),
        ):
            done = table("update_field_metadata", updates=[{"path": "name", **update}])
            assert done.fields == {"name": expected}
            assert {field.name: field.metadata for field in _schema(table).fields}["name"] == expected
        assert done.version == 4

    @covers("create_table_scalar_index", "list_table_indices")
    def test_create_scalar_index(self, table: Client) -> None:
        """CreateTableScalarIndex: the index is listed with its name, column and type."""
        for column, kind in (("id", "BTREE"), ("name", "BITMAP")):
            table("create_table_scalar_index", column=column, index_type=kind, name=f"{column}_idx")
            found = _built(table, f"{column}_idx")
            assert found.columns == [column]
            assert found.index_uuid
            assert found.index_type.upper() == kind

    @covers("create_table_index")
    def test_create_vector_index(self, table: Client) -> None:
        """CreateTableIndex: a vector index has its distance in the statistics."""
        options = {"index_type": "IVF_FLAT", "num_partitions": 1, "distance_type": "cosine"}
        table("create_table_index", column="vector", name="vector_idx", **options)
        assert _built(table, "vector_idx").columns == ["vector"]
        stats = table("describe_table_index_stats", index_name="vector_idx")
        assert stats.index_type.upper() == "IVF_FLAT"
        assert stats.distance_type is not None
        assert stats.distance_type.lower() == "cosine"

    def test_create_scalar_index_as_index(self, table: Client) -> None:
        """CreateTableIndex: it builds scalar and text indexes too, and finds a name if none is given."""
        table("create_table_index", column="id", index_type="BTREE")
        table("create_table_index", column="name", index_type="FTS", with_position=True, language="English")
        found = until(lambda: table("list_table_indices").indexes, lambda indexes: len(indexes) == 2)
        assert sorted(index.columns[0] for index in found) == ["id", "name"]
        assert all(index.index_name for index in found)

    @covers("create_table_scalar_index", "create_table_index", "TABLE_INDEX_ALREADY_EXISTS")
    def test_create_existing_index(self, table: Client) -> None:
        """CreateTableIndex, CreateTableScalarIndex: code 7 if the table has an index of that name."""
        table.example("create_table_scalar_index")
        _built(table, INDEX)
        for operation in ("create_table_scalar_index", "create_table_index"):
            table.refuses("TABLE_INDEX_ALREADY_EXISTS", operation, column="id", index_type="BTREE", name=INDEX)

    @covers("describe_table_index_stats")
    def test_index_stats(self, table: Client) -> None:
        """DescribeTableIndexStats: how many rows are indexed, and how many came later."""
        table.example("create_table_scalar_index")
        _built(table, INDEX)
        table("insert_into_table", sample(0, 2))
        stats = table("describe_table_index_stats", index_name=INDEX)
        assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (COUNT, 2)
        assert stats.index_type.upper() == "BTREE"

    def test_indexes_at_version(self, table: Client) -> None:
        """ListTableIndices, DescribeTableIndexStats: with a version, the indexes that the table had then."""
        table.example("create_table_scalar_index")
        _built(table, INDEX)
        assert table("list_table_indices", version=1).indexes == []
        table.refuses("TABLE_INDEX_NOT_FOUND", "describe_table_index_stats", version=1, index_name=INDEX)

    @covers("drop_table_index")
    def test_drop_index(self, table: Client) -> None:
        """DropTableIndex: the index is gone, the data is not, and the name is free again."""
        table.example("create_table_scalar_index")
        _built(table, INDEX)
        table("drop_table_index", index_name=INDEX)
        assert table("list_table_indices").indexes == []
        assert table.ids(filter="id = 3") == [3]
        table.example("create_table_scalar_index")
        _built(table, INDEX)

    def test_index_of_branch(self, table: Client) -> None:
        """CreateTableScalarIndex: an index that is built on a branch is that branch's alone."""
        table("create_table_branch", name="dev")
        table.example("create_table_scalar_index", branch="dev")
        _built(table, INDEX, branch="dev")
        assert table("list_table_indices").indexes == []
        table("drop_table_index", branch="dev", index_name=INDEX)
        assert table("list_table_indices", branch="dev").indexes == []


def _virtual(checksum: str) -> dict[str, Any]:
    output = {"column": "made", "struct_field": "made", "data_type": {"type": "int64"}, "nullable": True}
    function = {"input_columns": ["id"], "udf": "Ti4=", "udf_name": "f", "udf_version": "1", "image": "none"}
    return {
        "name": "made",
        "virtual_column": {**function, "outputs": [output], "manifest": "{}", "manifest_checksum": checksum},
    }


def _schema(client: Client, **fields: Any) -> Any:
    return client("describe_table", load_detailed_metadata=True, **fields).var_schema


def _built(client: Client, name: str, **fields: Any) -> Any:
    """The index as it is listed, once it is."""

    def look() -> Any:
        listed = client("list_table_indices", **fields).indexes
        return next((index for index in listed if index.index_name == name), None)

    return until(look, lambda index: index is not None)

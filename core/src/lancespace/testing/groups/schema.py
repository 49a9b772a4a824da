"""Columns, and the metadata of the schema."""

from __future__ import annotations

import hashlib
from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, SCHEMA, sample


class SchemaTests(BackendFixtures):
    """AlterTableAddColumns, -AlterColumns, -DropColumns, UpdateTableSchemaMetadata, UpdateFieldMetadata."""

    @covers("alter_table_add_columns")
    @needs("create_table", "query_table")
    def test_add_columns(self, client: Client) -> None:
        """AlterTableAddColumns: the columns have the values of their expressions; the answer has the version."""
        client("create_table", sample(), id=["t"])
        columns = [{"name": "twice", "expression": "id * 2"}, {"name": "loud", "expression": "upper(name)"}]
        assert client("alter_table_add_columns", id=["t"], new_columns=columns).version == 2
        found = client.rows(["t"])
        assert [each["twice"] for each in found] == [number * 2 for number in range(COUNT)]
        assert found[0]["loud"] == "RED APPLE"

    @covers("alter_table_add_columns", "INVALID_INPUT", "TABLE_SCHEMA_VALIDATION_ERROR")
    @needs("create_table")
    def test_add_columns_refused(self, client: Client) -> None:
        """AlterTableAddColumns: code 13 for bad SQL or no columns, 20 for a name that is taken; nothing changes."""
        client("create_table", sample(), id=["t"])
        for code, columns in (
            ("INVALID_INPUT", [{"name": "more", "expression": "this is ( no SQL"}]),
            ("INVALID_INPUT", [{"name": "more"}]),
            ("INVALID_INPUT", []),
            ("TABLE_SCHEMA_VALIDATION_ERROR", [{"name": "name", "expression": "id * 2"}]),
        ):
            with client.unchanged(), raises(code):
                client("alter_table_add_columns", id=["t"], new_columns=columns)

    @covers("alter_table_add_columns", "INVALID_INPUT")
    @needs("create_table", "query_table")
    def test_add_virtual_column(self, client: Client) -> None:
        """AlterTableAddColumns: a virtual column is declared without values; code 13 if its checksum is wrong."""
        client("create_table", sample(), id=["t"])
        checksum = hashlib.sha256(b"{}").hexdigest()
        with client.unchanged(), raises("INVALID_INPUT"):
            client("alter_table_add_columns", id=["t"], new_columns=[_virtual(checksum[::-1])])
        assert client("alter_table_add_columns", id=["t"], new_columns=[_virtual(checksum)]).version == 2
        assert [each["made"] for each in client.rows(["t"])] == [None] * COUNT

    @covers("alter_table_alter_columns")
    @needs("create_table", "query_table", "describe_table")
    def test_alter_columns(self, client: Client) -> None:
        """AlterTableAlterColumns: a new name, a new type, and whether it may be null; the values stay."""
        client("create_table", sample(), id=["t"])
        alterations = [{"path": "name", "rename": "label"}, {"path": "id", "data_type": {"type": "int32"}}]
        assert client("alter_table_alter_columns", id=["t"], alterations=alterations).version == 2
        fields = {field.name: field.type.type for field in _schema(client).fields}
        assert fields["id"] == "int32"
        assert "name" not in fields
        assert client.rows(["t"], columns={"column_names": ["id", "label"]})[0] == {"id": 0, "label": "red apple"}

    @covers("alter_table_alter_columns", "INVALID_INPUT", "TABLE_SCHEMA_VALIDATION_ERROR")
    @needs("create_table")
    def test_alter_columns_refused(self, client: Client) -> None:
        """AlterTableAlterColumns: code 13 for no change at all, 20 for a type that the values cannot have."""
        client("create_table", sample(), id=["t"])
        for code, alterations in (
            ("INVALID_INPUT", []),
            ("INVALID_INPUT", [{"path": "name"}]),
            ("TABLE_SCHEMA_VALIDATION_ERROR", [{"path": "vector", "data_type": {"type": "int32"}}]),
            ("TABLE_SCHEMA_VALIDATION_ERROR", [{"path": "name", "rename": "id"}]),
        ):
            with client.unchanged(), raises(code):
                client("alter_table_alter_columns", id=["t"], alterations=alterations)

    @covers("alter_table_drop_columns")
    @needs("create_table", "query_table")
    def test_drop_columns(self, client: Client) -> None:
        """AlterTableDropColumns: the columns are gone; the version before still has them."""
        client("create_table", sample(), id=["t"])
        assert client("alter_table_drop_columns", id=["t"], columns=["name", "vector"]).version == 2
        assert client.rows(["t"]) == [{"id": number} for number in range(COUNT)]
        assert client.rows(["t"], version=1) == sample().to_pylist()

    @covers("alter_table_drop_columns", "INVALID_INPUT", "TABLE_SCHEMA_VALIDATION_ERROR")
    @needs("create_table")
    def test_drop_columns_refused(self, client: Client) -> None:
        """AlterTableDropColumns: code 13 for none, 20 for all of them, since a table has columns."""
        client("create_table", sample(), id=["t"])
        for code, columns in (("INVALID_INPUT", []), ("TABLE_SCHEMA_VALIDATION_ERROR", SCHEMA.names)):
            with client.unchanged(), raises(code):
                client("alter_table_drop_columns", id=["t"], columns=columns)

    @needs("create_table", "create_table_branch", "alter_table_add_columns", "alter_table_alter_columns")
    @needs("alter_table_drop_columns", "query_table")
    def test_columns_of_branch(self, client: Client) -> None:
        """AlterTableAddColumns, AlterTableAlterColumns, AlterTableDropColumns: on a branch, only that one changes."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        for operation in ("alter_table_add_columns", "alter_table_alter_columns"):
            client.example(operation, ["t"], branch="dev")
        client("alter_table_drop_columns", id=["t"], branch="dev", columns=["vector"])
        assert sorted(client.rows(["t"], branch="dev")[0]) == ["id", "label", "twice"]
        assert client.rows(["t"]) == sample().to_pylist()

    @covers("update_table_schema_metadata")
    @needs("create_table", "describe_table")
    def test_schema_metadata(self, client: Client) -> None:
        """UpdateTableSchemaMetadata: what is given replaces what was there, and is answered."""
        client("create_table", sample(), id=["t"])
        for metadata in ({"owner": "me", "purpose": "test"}, {"owner": "you"}):
            done = client("update_table_schema_metadata", id=["t"], metadata=metadata)
            assert done.metadata == metadata
            assert _schema(client).metadata == metadata

    @needs("update_table_schema_metadata", "create_table", "create_table_branch", "describe_table")
    def test_schema_metadata_of_branch(self, client: Client) -> None:
        """UpdateTableSchemaMetadata: on a branch, only that branch's metadata changes."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("update_table_schema_metadata", id=["t"], branch="dev", metadata={"owner": "me"})
        assert _schema(client, branch="dev").metadata == {"owner": "me"}
        assert not _schema(client).metadata

    @covers("update_field_metadata")
    @needs("create_table", "describe_table")
    def test_field_metadata(self, client: Client) -> None:
        """UpdateFieldMetadata: merged into what is there; null deletes a key, replace all the others."""
        client("create_table", sample(), id=["t"])
        for update, expected in (
            ({"metadata": {"unit": "words", "lang": "en"}}, {"unit": "words", "lang": "en"}),
            ({"metadata": {"unit": None, "more": "x"}}, {"lang": "en", "more": "x"}),
            ({"metadata": {"only": "this"}, "replace": True}, {"only": "this"}),
        ):
            done = client("update_field_metadata", id=["t"], updates=[{"path": "name", **update}])
            assert done.fields == {"name": expected}
            assert {field.name: field.metadata for field in _schema(client).fields}["name"] == expected
        assert done.version == 4


def _virtual(checksum: str) -> dict[str, Any]:
    output = {"column": "made", "struct_field": "made", "data_type": {"type": "int64"}, "nullable": True}
    function = {"input_columns": ["id"], "udf": "Ti4=", "udf_name": "f", "udf_version": "1", "image": "none"}
    return {
        "name": "made",
        "virtual_column": {**function, "outputs": [output], "manifest": "{}", "manifest_checksum": checksum},
    }


def _schema(client: Client, **fields: Any) -> Any:
    return client("describe_table", id=["t"], load_detailed_metadata=True, **fields).var_schema

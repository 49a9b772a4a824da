"""Creating tables with data."""

from __future__ import annotations

import pyarrow as pa

from lancespace_testing.client import Client, raises
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import Feature, covers, needs
from lancespace_testing.samples import COUNT, SCHEMA, sample, stream

_GARBAGE = b"this is no Arrow stream, but long enough to be read for a while"


class CreationTests(BackendFixtures):
    """CreateTable."""

    @covers("create_table")
    def test_create_table(self, client: Client) -> None:
        """CreateTable: the table is there with the rows of the stream, at its first version."""
        created = client("create_table", sample())
        assert created.location
        assert created.version == 1
        client("table_exists")
        assert client("list_tables", id=[]).tables == ["t"]
        assert client.rows() == sample().to_pylist()

    def test_create_table_in_namespace(self, client: Client) -> None:
        """CreateTable: tables of the same name in different namespaces are different tables."""
        client("create_namespace", id=["a"])
        client("create_table", sample(0, 2))
        client("create_table", sample(2, 4), id=["a", "t"])
        assert (client.ids(), client.ids(["a", "t"])) == ([0, 1], [2, 3])

    def test_create_empty_table(self, client: Client) -> None:
        """CreateTable: a stream without rows makes an empty table with the schema of the stream."""
        client("create_table", SCHEMA.empty_table())
        assert client("count_table_rows").count == 0
        found = client("describe_table", load_detailed_metadata=True).var_schema
        assert [field.name for field in found.fields] == SCHEMA.names

    @covers("create_table", "TABLE_ALREADY_EXISTS")
    def test_create_existing_table(self, table: Client) -> None:
        """CreateTable: code 5 if the name is taken, by default and in the mode Create, and the rows stay."""
        for mode in (None, "Create", "create", "CREATE"):
            table.refuses("TABLE_ALREADY_EXISTS", "create_table", sample(0, 2), mode=mode)
        assert table.rows() == sample().to_pylist()

    def test_create_table_exist_ok(self, client: Client) -> None:
        """CreateTable: with ExistOk, in any spelling, the existing table is kept; a new one is created."""
        for mode in ("ExistOk", "exist_ok", "EXISTOK"):
            client("create_table", sample(0, 2), id=[mode], mode=mode)
            with client.unchanged():
                client("create_table", sample(), id=[mode], mode=mode)
            assert client.ids([mode]) == [0, 1]

    def test_create_table_overwrite(self, client: Client) -> None:
        """CreateTable: with Overwrite, in any spelling, the new rows and the new schema replace what there was."""
        for mode in ("Overwrite", "overwrite", "OVERWRITE"):
            client("create_table", sample(), id=[mode], mode=mode)
            client("create_table", pa.table({"id": [7], "other": ["x"]}), id=[mode], mode=mode)
            assert client.rows([mode]) == [{"id": 7, "other": "x"}]

    @covers("create_table", "INVALID_INPUT")
    def test_create_table_in_unknown_mode(self, client: Client) -> None:
        """CreateTable: code 13 for a mode that the spec does not know."""
        client.refuses("INVALID_INPUT", "create_table", sample(), mode="perhaps")

    def test_create_declared_table(self, client: Client) -> None:
        """CreateTable: a table that was only declared is created at the place it was given."""
        for mode in ("Create", "ExistOk", "Overwrite"):
            client("declare_table", id=[mode])
            location = client("describe_table", id=[mode]).location
            client("create_table", sample(), id=[mode], mode=mode)
            assert client.ids([mode]) == list(range(COUNT))
            assert client("describe_table", id=[mode]).location == location

    @needs(Feature.TABLE_PROPERTIES, Feature.REPLACED_ENTRIES)
    def test_create_declared_table_with_properties(self, client: Client) -> None:
        """CreateTable: a declared table keeps its properties, and gets those that are given; of one name, the given."""
        client("declare_table", properties={"kept": "1", "changed": "2"})
        created = client("create_table", sample(), properties={"changed": "3", "new": "4"})
        merged = {"kept": "1", "changed": "3", "new": "4"}
        assert created.properties == merged
        assert client("describe_table").properties == merged

    @covers("create_table", "INVALID_INPUT")
    def test_create_table_from_garbage(self, client: Client) -> None:
        """CreateTable: code 13 for bytes that are no Arrow stream; there is no table, and creating it again works."""
        for data in (_GARBAGE, b""):
            client.refuses("INVALID_INPUT", "create_table", data)
        assert client("list_tables", id=[]).tables == []
        client("create_table", sample())
        assert client.ids() == list(range(COUNT))

    def test_create_table_from_broken_stream(self, client: Client) -> None:
        """CreateTable: code 13 if the stream breaks off; no table with half of the rows, and a repeat works."""
        with raises("INVALID_INPUT"):
            client("create_table", _broken_off())
        assert client("list_tables", id=[], include_declared=False).tables == []
        client("create_table", sample())
        assert client.ids() == list(range(COUNT))

    def test_overwrite_with_broken_stream(self, table: Client) -> None:
        """CreateTable: an Overwrite whose data turns out to be bad leaves the table as it was."""
        for data in (_GARBAGE, _broken_off()):
            table.refuses("INVALID_INPUT", "create_table", data, mode="Overwrite")
        assert table.rows() == sample().to_pylist()

    @covers("create_table", "TABLE_SCHEMA_VALIDATION_ERROR")
    def test_create_table_with_impossible_schema(self, client: Client) -> None:
        """CreateTable: code 20 for a schema that no Lance table can have, here two columns of one name."""
        twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
        client.refuses("TABLE_SCHEMA_VALIDATION_ERROR", "create_table", twice)


def _broken_off() -> bytes:
    """A stream of many batches whose end is missing."""
    data = stream(sample(0, 2000), batch_rows=100)
    return data[: len(data) * 3 // 4]

"""Tables as entries of the catalog: declaring, describing, registering and taking them out."""

from __future__ import annotations

import lance
from lance_namespace import InvalidInputError

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import Feature, covers, needs
from lancespace.testing.samples import COUNT

_PROPERTIES = {"owner": "me", "purpose": "test"}


class TableTests(BackendFixtures):
    """DeclareTable, DescribeTable, TableExists, RegisterTable, DeregisterTable, DropTable."""

    @covers("declare_table")
    @covers("table_exists")
    @needs("list_tables", "describe_table")
    def test_declare_table(self, client: Client) -> None:
        """DeclareTable: the table exists and has a place from then on, before there is any data."""
        declared = client("declare_table", id=["t"])
        assert declared.location
        client("table_exists", id=["t"])
        assert _path(client("describe_table", id=["t"]).location) == _path(declared.location)
        assert client("list_tables", id=[]).tables == ["t"]

    @covers("declare_table", "TABLE_ALREADY_EXISTS")
    @needs("describe_table")
    def test_declare_existing_table(self, client: Client) -> None:
        """DeclareTable: code 5 if the name is taken, by a table with data or by one that is declared."""
        client("declare_table", id=["t"])
        location = client("describe_table", id=["t"]).location
        with client.unchanged(), raises("TABLE_ALREADY_EXISTS"):
            client("declare_table", id=["t"])
        assert client("describe_table", id=["t"]).location == location

    @needs("declare_table", "describe_table", Feature.TABLE_PROPERTIES)
    def test_declared_properties(self, client: Client) -> None:
        """DeclareTable: properties are stored, and answered by DescribeTable; where none are set, an empty object."""
        client("declare_table", id=["t"], properties=_PROPERTIES)
        client("declare_table", id=["u"])
        found, none = (client("describe_table", id=[name]).properties for name in ("t", "u"))
        assert found is not None
        assert _PROPERTIES.items() <= found.items()
        assert none is not None

    @needs("create_table", "describe_table", Feature.TABLE_PROPERTIES)
    def test_created_properties(self, client: Client) -> None:
        """CreateTable: properties are stored, and answered here and by DescribeTable."""
        created = client.example("create_table", ["t"], properties=_PROPERTIES).properties
        for found in (created, client("describe_table", id=["t"]).properties):
            assert found is not None
            assert _PROPERTIES.items() <= found.items()

    @covers("describe_table")
    @needs("create_namespace", "create_table", "insert_into_table")
    def test_describe_table_in_detail(self, client: Client) -> None:
        """DescribeTable: with load_detailed_metadata, the names, the version, the schema and the statistics."""
        client("create_namespace", id=["a"])
        client.example("create_table", ["a", "t"])
        client.example("insert_into_table", ["a", "t"])
        found = client("describe_table", id=["a", "t"], load_detailed_metadata=True)
        assert (found.namespace, found.table, found.version) == (["a"], "t", 2)
        assert [field.name for field in found.var_schema.fields] == ["id", "name", "vector"]
        assert found.var_schema.fields[0].type.type == "int64"
        assert found.stats is not None
        assert (found.stats.num_fragments, found.stats.num_deleted_rows) == (2, 0)

    @needs("create_table", "insert_into_table", "describe_table")
    def test_describe_table_at_version(self, client: Client) -> None:
        """DescribeTable: with a version, the table as it was then."""
        client.example("create_table", ["t"])
        client.example("insert_into_table", ["t"])
        found = client("describe_table", id=["t"], version=1, load_detailed_metadata=True)
        assert found.version == 1
        assert found.stats is not None
        assert found.stats.num_fragments == 1

    @covers("describe_table", "TABLE_TAG_NOT_FOUND", "INVALID_INPUT")
    @needs("create_table", "insert_into_table", "create_table_tag")
    def test_describe_table_at_tag(self, client: Client) -> None:
        """DescribeTable: a tag stands for its version; code 8 without such a tag, code 13 together with a version."""
        client.example("create_table", ["t"])
        client.example("insert_into_table", ["t"])
        client("create_table_tag", id=["t"], tag="first", version=1)
        assert client("describe_table", id=["t"], tag="first", load_detailed_metadata=True).version == 1
        with raises("TABLE_TAG_NOT_FOUND"):
            client("describe_table", id=["t"], tag="absent", load_detailed_metadata=True)
        with raises("INVALID_INPUT"):
            client("describe_table", id=["t"], tag="first", version=1, load_detailed_metadata=True)

    @needs("create_table", "describe_table")
    def test_table_uri(self, client: Client) -> None:
        """DescribeTable: with with_table_uri, a complete URI of the table's location."""
        client.example("create_table", ["t"])
        found = client("describe_table", id=["t"], with_table_uri=True)
        assert "://" in found.table_uri
        assert _path(found.table_uri) == _path(found.location)

    @needs("declare_table", "create_table", "describe_table")
    def test_is_only_declared(self, client: Client) -> None:
        """DescribeTable: with check_declared, whether there is data yet; without, the backend need not look."""
        client("declare_table", id=["t"])
        assert client("describe_table", id=["t"], check_declared=True).is_only_declared is True
        client.example("create_table", ["t"])
        assert client("describe_table", id=["t"], check_declared=True).is_only_declared is False
        assert client("describe_table", id=["t"]).is_only_declared in {None, False}

    @needs("create_table", "insert_into_table", "table_exists")
    def test_table_exists_at_version(self, client: Client) -> None:
        """TableExists: like DescribeTable, it takes a version."""
        client.example("create_table", ["t"])
        client.example("insert_into_table", ["t"])
        for version in (1, 2):
            client("table_exists", id=["t"], version=version)

    @covers("register_table")
    @needs("list_tables", "count_table_rows")
    def test_register_table(self, client: Client, placed: str) -> None:
        """RegisterTable: a table that is in storage already gets a name."""
        registered = client("register_table", id=["t"], location=placed)
        assert registered.location
        assert client("list_tables", id=[]).tables == ["t"]
        assert client("count_table_rows", id=["t"]).count == COUNT

    @covers("register_table", "TABLE_ALREADY_EXISTS", "NAMESPACE_NOT_FOUND", "INVALID_INPUT")
    @needs("declare_table")
    def test_register_table_refused(self, client: Client, placed: str) -> None:
        """RegisterTable: code 5 if the name is taken, 1 without the namespace, 13 for an unknown mode or no id."""
        client("declare_table", id=["t"])
        for code, fields in (
            ("TABLE_ALREADY_EXISTS", {"id": ["t"]}),
            ("TABLE_ALREADY_EXISTS", {"id": ["t"], "mode": "create"}),
            ("NAMESPACE_NOT_FOUND", {"id": ["absent", "t"]}),
            ("INVALID_INPUT", {"id": ["u"], "mode": "perhaps"}),
            ("INVALID_INPUT", {"id": []}),
        ):
            with client.unchanged(), raises(code):
                client("register_table", location=placed, **fields)

    @needs("register_table", "create_table", "delete_from_table", "count_table_rows", Feature.REPLACED_ENTRIES)
    def test_register_table_overwrite(self, client: Client, placed: str) -> None:
        """RegisterTable: with Overwrite, the name stands for the new location."""
        client.example("create_table", ["t"])
        client("delete_from_table", id=["t"], predicate="id > 0")
        client("register_table", id=["t"], location=placed, mode="overwrite")
        assert client("count_table_rows", id=["t"]).count == COUNT

    @needs("register_table", "drop_table", "count_table_rows")
    def test_two_names_for_one_location(self, client: Client, placed: str) -> None:
        """RegisterTable: a location that has a name already is refused, or a drop of the second name keeps the rows."""
        client("register_table", id=["t"], location=placed)
        try:
            client("register_table", id=["u"], location=placed)
        except InvalidInputError as error:
            assert "'t'" in str(error)  # noqa: PT017 - either of two answers is right
        else:
            client("drop_table", id=["u"])
        assert client("count_table_rows", id=["t"]).count == COUNT

    @covers("deregister_table")
    @needs("create_namespace", "create_table", "list_tables", "table_exists")
    def test_deregister_table(self, client: Client) -> None:
        """DeregisterTable: the name is gone, for a table of the root and for one below."""
        client("create_namespace", id=["a"])
        for identifier in (["t"], ["a", "t"]):
            client.example("create_table", identifier)
            client("deregister_table", id=identifier)
            with raises("TABLE_NOT_FOUND"):
                client("table_exists", id=identifier)
            assert client("list_tables", id=identifier[:-1]).tables == []

    @needs("create_table", "deregister_table", Feature.REACHABLE_TABLES)
    def test_deregister_table_keeps_the_data(self, client: Client) -> None:
        """DeregisterTable: the table content remains available in the storage, at the location that is answered."""
        client.example("create_table", ["t"])
        location = client("deregister_table", id=["t"]).location
        assert lance.dataset(location, storage_options=client.storage(location).options).count_rows() == COUNT

    @covers("drop_table")
    @needs("create_table", "list_tables", "table_exists")
    def test_drop_table(self, client: Client) -> None:
        """DropTable: the table is gone, and those beside it are not."""
        for name in ("t", "tt"):
            client.example("create_table", [name])
        client("drop_table", id=["t"])
        with raises("TABLE_NOT_FOUND"):
            client("table_exists", id=["t"])
        assert client("list_tables", id=[]).tables == ["tt"]

    @needs("create_table", "describe_table", "drop_table", Feature.REACHABLE_TABLES)
    def test_drop_table_deletes_the_data(self, client: Client) -> None:
        """DropTable: its data is deleted."""
        client.example("create_table", ["t"])
        storage = client.storage(client("describe_table", id=["t"]).location)
        assert storage.exists(storage.path())
        client("drop_table", id=["t"])
        assert not storage.exists(storage.path())

    @needs("declare_table", "drop_table", "table_exists")
    def test_drop_declared_table(self, client: Client) -> None:
        """DropTable: a table that was only declared can be dropped too."""
        client("declare_table", id=["t"])
        client("drop_table", id=["t"])
        with raises("TABLE_NOT_FOUND"):
            client("table_exists", id=["t"])

    @needs("create_table", "drop_table", "query_table")
    def test_dropped_name_is_free(self, client: Client) -> None:
        """DropTable: a new table of the same name has nothing of the old one."""
        client.example("create_table", ["t"])
        client("drop_table", id=["t"])
        client.example("create_table", ["t"])
        assert client.ids(["t"]) == list(range(COUNT))


def _path(location: str) -> str:
    """A location without the scheme of local files, which a backend may leave out."""
    return location.removeprefix("file://")

"""Tables as entries of the catalog: declaring, describing, listing, renaming and dropping them."""

from __future__ import annotations

import lance
from lance_namespace import InvalidInputError

from lancespace_testing.client import Client
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import Feature, covers, needs
from lancespace_testing.samples import COUNT, sample

_PROPERTIES = {"owner": "me", "purpose": "test"}


class TableTests(BackendFixtures):
    """What the catalog knows of a table before anyone reads it."""

    @covers("declare_table", "table_exists")
    def test_declare_table(self, client: Client) -> None:
        """DeclareTable: the table exists and has a place from then on, before there is any data."""
        declared = client("declare_table")
        assert declared.location
        client("table_exists")
        assert _path(client("describe_table").location) == _path(declared.location)
        assert client("list_tables", id=[]).tables == ["t"]

    @covers("declare_table", "TABLE_ALREADY_EXISTS")
    def test_declare_existing_table(self, client: Client) -> None:
        """DeclareTable: code 5 if the name is taken, by a table with data or by one that is declared."""
        client("declare_table")
        location = client("describe_table").location
        client.refuses("TABLE_ALREADY_EXISTS", "declare_table")
        assert client("describe_table").location == location

    @needs(Feature.TABLE_PROPERTIES)
    def test_declared_properties(self, client: Client) -> None:
        """DeclareTable: properties are stored, and answered by DescribeTable; where none are set, an empty object."""
        client("declare_table", properties=_PROPERTIES)
        client("declare_table", id=["u"])
        found, none = (client("describe_table", id=[name]).properties for name in ("t", "u"))
        assert found is not None
        assert _PROPERTIES.items() <= found.items()
        assert none is not None

    @needs(Feature.TABLE_PROPERTIES)
    def test_created_properties(self, client: Client) -> None:
        """CreateTable: properties are stored, and answered here and by DescribeTable."""
        created = client.example("create_table", properties=_PROPERTIES).properties
        for found in (created, client("describe_table").properties):
            assert found is not None
            assert _PROPERTIES.items() <= found.items()

    @covers("describe_table")
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

    def test_describe_table_at_version(self, table: Client) -> None:
        """DescribeTable: with a version, the table as it was then."""
        table.example("insert_into_table")
        found = table("describe_table", version=1, load_detailed_metadata=True)
        assert found.version == 1
        assert found.stats is not None
        assert found.stats.num_fragments == 1

    @covers("describe_table", "TABLE_TAG_NOT_FOUND", "INVALID_INPUT")
    def test_describe_table_at_tag(self, table: Client) -> None:
        """DescribeTable: a tag stands for its version; code 8 without such a tag, code 13 together with a version."""
        table.example("insert_into_table")
        table("create_table_tag", tag="first", version=1)
        assert table("describe_table", tag="first", load_detailed_metadata=True).version == 1
        table.refuses("TABLE_TAG_NOT_FOUND", "describe_table", tag="absent", load_detailed_metadata=True)
        table.refuses("INVALID_INPUT", "describe_table", tag="first", version=1, load_detailed_metadata=True)

    def test_table_uri(self, table: Client) -> None:
        """DescribeTable: with with_table_uri, a complete URI of the table's location."""
        found = table("describe_table", with_table_uri=True)
        assert "://" in found.table_uri
        assert _path(found.table_uri) == _path(found.location)

    def test_is_only_declared(self, client: Client) -> None:
        """DescribeTable: with check_declared, whether there is data yet; without, the backend need not look."""
        client("declare_table")
        assert client("describe_table", check_declared=True).is_only_declared is True
        client.example("create_table")
        assert client("describe_table", check_declared=True).is_only_declared is False
        assert client("describe_table").is_only_declared in {None, False}

    @covers("register_table")
    def test_register_table(self, client: Client, placed: str) -> None:
        """RegisterTable: a table that is in storage already gets a name."""
        registered = client("register_table", location=placed)
        assert registered.location
        assert client("list_tables", id=[]).tables == ["t"]
        assert client("count_table_rows").count == COUNT

    @covers("register_table", "TABLE_ALREADY_EXISTS", "NAMESPACE_NOT_FOUND", "INVALID_INPUT")
    def test_register_table_refused(self, client: Client, placed: str) -> None:
        """RegisterTable: code 5 if the name is taken, 1 without the namespace, 13 for an unknown mode or no id."""
        client("declare_table")
        for code, fields in (
            ("TABLE_ALREADY_EXISTS", {"id": ["t"]}),
            ("TABLE_ALREADY_EXISTS", {"id": ["t"], "mode": "create"}),
            ("NAMESPACE_NOT_FOUND", {"id": ["absent", "t"]}),
            ("INVALID_INPUT", {"id": ["u"], "mode": "perhaps"}),
            ("INVALID_INPUT", {"id": []}),
        ):
            client.refuses(code, "register_table", location=placed, **fields)

    @needs(Feature.REPLACED_ENTRIES)
    def test_register_table_overwrite(self, table: Client, placed: str) -> None:
        """RegisterTable: with Overwrite, the name stands for the new location."""
        table("delete_from_table", predicate="id > 0")
        table("register_table", location=placed, mode="overwrite")
        assert table("count_table_rows").count == COUNT

    def test_two_names_for_one_location(self, client: Client, placed: str) -> None:
        """RegisterTable: a location that has a name already is refused, or a drop of the second name keeps the rows."""
        client("register_table", location=placed)
        try:
            client("register_table", id=["u"], location=placed)
        except InvalidInputError as error:
            assert "'t'" in str(error)  # noqa: PT017 - either of two answers is right
        else:
            client("drop_table", id=["u"])
        assert client("count_table_rows").count == COUNT

    @covers("deregister_table")
    def test_deregister_table(self, client: Client) -> None:
        """DeregisterTable: the name is gone, for a table of the root and for one below."""
        client("create_namespace", id=["a"])
        for identifier in (["t"], ["a", "t"]):
            client.example("create_table", identifier)
            client("deregister_table", id=identifier)
            client.refuses("TABLE_NOT_FOUND", "table_exists", id=identifier)
            assert client("list_tables", id=identifier[:-1]).tables == []

    @needs(Feature.REACHABLE_TABLES)
    def test_deregister_table_keeps_the_data(self, table: Client) -> None:
        """DeregisterTable: the table content remains available in the storage, at the location that is answered."""
        location = table("deregister_table").location
        assert lance.dataset(location, storage_options=table.storage(location).options).count_rows() == COUNT

    @covers("drop_table")
    def test_drop_table(self, client: Client) -> None:
        """DropTable: the table is gone, and those beside it are not."""
        for name in ("t", "tt"):
            client.example("create_table", [name])
        client("drop_table")
        client.refuses("TABLE_NOT_FOUND", "table_exists")
        assert client("list_tables", id=[]).tables == ["tt"]

    @needs(Feature.REACHABLE_TABLES)
    def test_drop_table_deletes_the_data(self, table: Client) -> None:
        """DropTable: its data is deleted."""
        storage = table.storage(table("describe_table").location)
        assert storage.exists(storage.path())
        table("drop_table")
        assert not storage.exists(storage.path())

    def test_drop_declared_table(self, client: Client) -> None:
        """DropTable: a table that was only declared can be dropped too."""
        client("declare_table")
        client("drop_table")
        client.refuses("TABLE_NOT_FOUND", "table_exists")

    def test_dropped_name_is_free(self, table: Client) -> None:
        """DropTable: a new table of the same name has nothing of the old one."""
        table("drop_table")
        table.example("create_table")
        assert table.ids() == list(range(COUNT))

    @covers("list_tables")
    def test_list_tables(self, client: Client) -> None:
        """ListTables: the names, relative to their namespace, of its own tables."""
        client("create_namespace", id=["a"])
        client.example("create_table", ["root"])
        client.example("create_table", ["a", "u"])
        client("declare_table", id=["a", "t"])
        assert client("list_tables", id=[]).tables == ["root"]
        assert sorted(client("list_tables", id=["a"]).tables) == ["t", "u"]

    def test_list_tables_without_declared(self, client: Client) -> None:
        """ListTables: with include_declared false, only tables that have data."""
        client("declare_table", id=["declared"])
        client.example("create_table", ["created"])
        assert sorted(client("list_tables", id=[]).tables) == ["created", "declared"]
        assert sorted(client("list_tables", id=[], include_declared=True).tables) == ["created", "declared"]
        assert client("list_tables", id=[], include_declared=False).tables == ["created"]

    @covers("list_all_tables")
    @needs(Feature.NESTED_NAMESPACES)
    def test_list_all_tables(self, client: Client) -> None:
        """ListAllTables: the full identifiers, joined with `$`, of the tables of all namespaces."""
        for identifier in (["a"], ["a", "b"], ["empty"]):
            client("create_namespace", id=identifier)
        for identifier in (["t"], ["a", "t"], ["a", "b", "t"]):
            client.example("create_table", identifier)
        assert sorted(client("list_all_tables").tables) == ["a$b$t", "a$t", "t"]

    def test_list_all_tables_without_declared(self, client: Client) -> None:
        """ListAllTables: with include_declared false, only tables that have data."""
        client("create_namespace", id=["a"])
        client("declare_table", id=["a", "declared"])
        client.example("create_table", ["a", "created"])
        assert sorted(client("list_all_tables").tables) == ["a$created", "a$declared"]
        assert client("list_all_tables", include_declared=False).tables == ["a$created"]

    def test_list_all_tables_of_empty_catalog(self, client: Client) -> None:
        """ListAllTables: nothing, and no token, where there is nothing."""
        answer = client("list_all_tables")
        assert (answer.tables, answer.page_token or None) == ([], None)

    @covers("rename_table")
    def test_rename_table(self, table: Client) -> None:
        """RenameTable: the same data under the new name, and the old name is gone."""
        table("rename_table", new_table_name="u")
        assert table("list_tables", id=[]).tables == ["u"]
        assert table.ids(["u"]) == list(range(COUNT))
        table.refuses("TABLE_NOT_FOUND", "table_exists")

    def test_rename_table_in_its_namespace(self, client: Client) -> None:
        """RenameTable: without new_namespace_id, the table stays in its namespace."""
        client("create_namespace", id=["a"])
        client.example("create_table", ["a", "t"])
        client("rename_table", id=["a", "t"], new_table_name="u")
        assert client("list_tables", id=["a"]).tables == ["u"]
        assert client("list_tables", id=[]).tables == []
        assert client.ids(["a", "u"]) == list(range(COUNT))

    @needs(Feature.RENAME_ACROSS_NAMESPACES)
    def test_rename_table_into_another_namespace(self, client: Client) -> None:
        """RenameTable: with new_namespace_id, the table moves there; the empty one is the root."""
        client("create_namespace", id=["a"])
        client.example("create_table")
        client("rename_table", new_table_name="u", new_namespace_id=["a"])
        assert (client("list_tables", id=[]).tables, client("list_tables", id=["a"]).tables) == ([], ["u"])
        client("rename_table", id=["a", "u"], new_table_name="t", new_namespace_id=[])
        assert (client("list_tables", id=[]).tables, client("list_tables", id=["a"]).tables) == (["t"], [])
        assert client.ids() == list(range(COUNT))

    @covers("rename_table", "TABLE_ALREADY_EXISTS")
    def test_rename_table_to_taken_name(self, table: Client) -> None:
        """RenameTable: code 5 if the new name is taken, and both tables stay what they were."""
        table("create_table", sample(0, 2), id=["u"])
        for name in ("u", "t"):
            table.refuses("TABLE_ALREADY_EXISTS", "rename_table", new_table_name=name)
        assert (table.ids(), table.ids(["u"])) == (list(range(COUNT)), [0, 1])

    @covers("rename_table", "NAMESPACE_NOT_FOUND")
    @needs(Feature.RENAME_ACROSS_NAMESPACES)
    def test_rename_table_into_missing_namespace(self, table: Client) -> None:
        """RenameTable: code 1 if the namespace to move to does not exist."""
        table.refuses("NAMESPACE_NOT_FOUND", "rename_table", new_table_name="u", new_namespace_id=["absent"])

    def test_rename_table_keeps_its_history(self, table: Client) -> None:
        """RenameTable: the versions and tags of the table go with it, and it can be written to."""
        table("create_table_tag", tag="first", version=1)
        table("rename_table", new_table_name="u")
        table.example("insert_into_table", ["u"])
        assert table.version(["u"]) == 2
        assert table("get_table_tag_version", id=["u"], tag="first").version == 1

    def test_old_name_is_free_after_rename(self, table: Client) -> None:
        """RenameTable: a new table of the old name and the renamed one have nothing to do with each other."""
        table("rename_table", new_table_name="u")
        table("create_table", sample(0, 2))
        assert (table.ids(), table.ids(["u"])) == ([0, 1], list(range(COUNT)))
        table("drop_table")
        assert table.ids(["u"]) == list(range(COUNT))


def _path(location: str) -> str:
    """A location without the scheme of local files, which a backend may leave out."""
    return location.removeprefix("file://")

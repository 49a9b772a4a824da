"""What listings of tables contain."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import Feature, covers, needs


class ListingTests(BackendFixtures):
    """ListTables, ListAllTables."""

    @covers("list_tables")
    @needs("create_namespace", "declare_table", "create_table")
    def test_list_tables(self, client: Client) -> None:
        """ListTables: the names, relative to their namespace, of its own tables."""
        client("create_namespace", id=["a"])
        client.example("create_table", ["root"])
        client.example("create_table", ["a", "u"])
        client("declare_table", id=["a", "t"])
        assert client("list_tables", id=[]).tables == ["root"]
        assert sorted(client("list_tables", id=["a"]).tables) == ["t", "u"]

    @needs("list_tables", "declare_table", "create_table")
    def test_list_tables_without_declared(self, client: Client) -> None:
        """ListTables: with include_declared false, only tables that have data."""
        client("declare_table", id=["declared"])
        client.example("create_table", ["created"])
        assert sorted(client("list_tables", id=[]).tables) == ["created", "declared"]
        assert sorted(client("list_tables", id=[], include_declared=True).tables) == ["created", "declared"]
        assert client("list_tables", id=[], include_declared=False).tables == ["created"]

    @covers("list_all_tables")
    @needs("create_namespace", "create_table", Feature.NESTED_NAMESPACES)
    def test_list_all_tables(self, client: Client) -> None:
        """ListAllTables: the full identifiers, joined with `$`, of the tables of all namespaces."""
        for identifier in (["a"], ["a", "b"], ["empty"]):
            client("create_namespace", id=identifier)
        for identifier in (["t"], ["a", "t"], ["a", "b", "t"]):
            client.example("create_table", identifier)
        assert sorted(client("list_all_tables").tables) == ["a$b$t", "a$t", "t"]

    @needs("list_all_tables", "create_namespace", "create_table", "declare_table")
    def test_list_all_tables_without_declared(self, client: Client) -> None:
        """ListAllTables: with include_declared false, only tables that have data."""
        client("create_namespace", id=["a"])
        client("declare_table", id=["a", "declared"])
        client.example("create_table", ["a", "created"])
        assert sorted(client("list_all_tables").tables) == ["a$created", "a$declared"]
        assert client("list_all_tables", include_declared=False).tables == ["a$created"]

    @needs("list_all_tables")
    def test_list_all_tables_of_empty_catalog(self, client: Client) -> None:
        """ListAllTables: nothing, and no token, where there is nothing."""
        answer = client("list_all_tables")
        assert (answer.tables, answer.page_token or None) == ([], None)

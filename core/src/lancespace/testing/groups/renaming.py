"""Renaming and moving tables."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import Feature, covers, needs
from lancespace.testing.samples import COUNT, sample


class RenamingTests(BackendFixtures):
    """RenameTable."""

    @covers("rename_table")
    @needs("create_table", "list_tables", "table_exists", "query_table")
    def test_rename_table(self, client: Client) -> None:
        """RenameTable: the same data under the new name, and the old name is gone."""
        client.example("create_table", ["t"])
        client("rename_table", id=["t"], new_table_name="u")
        assert client("list_tables", id=[]).tables == ["u"]
        assert client.ids(["u"]) == list(range(COUNT))
        with raises("TABLE_NOT_FOUND"):
            client("table_exists", id=["t"])

    @needs("rename_table", "create_namespace", "create_table", "list_tables", "query_table")
    def test_rename_table_in_its_namespace(self, client: Client) -> None:
        """RenameTable: without new_namespace_id, the table stays in its namespace."""
        client("create_namespace", id=["a"])
        client.example("create_table", ["a", "t"])
        client("rename_table", id=["a", "t"], new_table_name="u")
        assert client("list_tables", id=["a"]).tables == ["u"]
        assert client("list_tables", id=[]).tables == []
        assert client.ids(["a", "u"]) == list(range(COUNT))

    @needs("rename_table", "create_namespace", "create_table", "list_tables", "query_table")
    @needs(Feature.RENAME_ACROSS_NAMESPACES)
    def test_rename_table_into_another_namespace(self, client: Client) -> None:
        """RenameTable: with new_namespace_id, the table moves there; the empty one is the root."""
        client("create_namespace", id=["a"])
        client.example("create_table", ["t"])
        client("rename_table", id=["t"], new_table_name="u", new_namespace_id=["a"])
        assert (client("list_tables", id=[]).tables, client("list_tables", id=["a"]).tables) == ([], ["u"])
        client("rename_table", id=["a", "u"], new_table_name="t", new_namespace_id=[])
        assert (client("list_tables", id=[]).tables, client("list_tables", id=["a"]).tables) == (["t"], [])
        assert client.ids(["t"]) == list(range(COUNT))

    @covers("rename_table", "TABLE_ALREADY_EXISTS")
    @needs("create_table", "query_table")
    def test_rename_table_to_taken_name(self, client: Client) -> None:
        """RenameTable: code 5 if the new name is taken, and both tables stay what they were."""
        client.example("create_table", ["t"])
        client("create_table", sample(0, 2), id=["u"])
        for name in ("u", "t"):
            with client.unchanged(), raises("TABLE_ALREADY_EXISTS"):
                client("rename_table", id=["t"], new_table_name=name)
        assert (client.ids(["t"]), client.ids(["u"])) == (list(range(COUNT)), [0, 1])

    @covers("rename_table", "NAMESPACE_NOT_FOUND")
    @needs("create_table", Feature.RENAME_ACROSS_NAMESPACES)
    def test_rename_table_into_missing_namespace(self, client: Client) -> None:
        """RenameTable: code 1 if the namespace to move to does not exist."""
        client.example("create_table", ["t"])
        with client.unchanged(), raises("NAMESPACE_NOT_FOUND"):
            client("rename_table", id=["t"], new_table_name="u", new_namespace_id=["absent"])

    @needs("rename_table", "create_table", "insert_into_table", "create_table_tag", "list_table_versions")
    @needs("get_table_tag_version")
    def test_rename_table_keeps_its_history(self, client: Client) -> None:
        """RenameTable: the versions and tags of the table go with it, and it can be written to."""
        client.example("create_table", ["t"])
        client("create_table_tag", id=["t"], tag="first", version=1)
        client("rename_table", id=["t"], new_table_name="u")
        client.example("insert_into_table", ["u"])
        assert client.version(["u"]) == 2
        assert client("get_table_tag_version", id=["u"], tag="first").version == 1

    @needs("rename_table", "create_table", "drop_table", "query_table")
    def test_old_name_is_free_after_rename(self, client: Client) -> None:
        """RenameTable: a new table of the old name and the renamed one have nothing to do with each other."""
        client.example("create_table", ["t"])
        client("rename_table", id=["t"], new_table_name="u")
        client("create_table", sample(0, 2), id=["t"])
        assert (client.ids(["t"]), client.ids(["u"])) == ([0, 1], list(range(COUNT)))
        client("drop_table", id=["t"])
        assert client.ids(["u"]) == list(range(COUNT))

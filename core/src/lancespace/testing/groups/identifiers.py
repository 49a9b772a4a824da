"""Identifiers: which names are names, and that they come back as they went in."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs

_GOOD_NAMES = (
    "t",
    "with_underscore",
    "with-dash",
    "UPPER",
    "1digit",
    "dots.in.it",
    "with space",
    "ünïcödé",
    "per%41cent",
)
_BAD_NAMES = ("", ".", "..", "a/b", "../up", "line\nbreak", "nul\x00")


class IdentifierTests(BackendFixtures):
    """Objects & Relationships: Object Name, Object Identifier."""

    @needs("declare_table", "list_tables", "describe_table", "table_exists")
    def test_table_names_come_back(self, client: Client) -> None:
        """Object Name: a table is listed and found under exactly the name it was given."""
        for name in _GOOD_NAMES:
            client("declare_table", id=[name])
            client("table_exists", id=[name])
            client("describe_table", id=[name])
        assert sorted(client("list_tables", id=[]).tables) == sorted(_GOOD_NAMES)

    @needs("create_namespace", "list_namespaces", "namespace_exists", "declare_table", "list_tables")
    def test_namespace_names_come_back(self, client: Client) -> None:
        """Object Name: so is a namespace, and its tables are found below it."""
        for name in _GOOD_NAMES:
            client("create_namespace", id=[name])
            client("namespace_exists", id=[name])
            client("declare_table", id=[name, "t"])
            assert client("list_tables", id=[name]).tables == ["t"]
        assert sorted(client("list_namespaces", id=[]).namespaces) == sorted(_GOOD_NAMES)

    @needs("declare_table", "list_tables", "drop_table")
    def test_names_differ_by_case(self, client: Client) -> None:
        """Object Name: two names are the same name only if they are equal."""
        client("declare_table", id=["name"])
        client("declare_table", id=["NAME"])
        client("drop_table", id=["name"])
        assert client("list_tables", id=[]).tables == ["NAME"]

    @covers("declare_table", "INVALID_INPUT")
    def test_bad_table_names(self, client: Client) -> None:
        """DeclareTable: code 13 for a name that is none, or that would lead out of the catalog."""
        _refuses(client, "declare_table", _BAD_NAMES)

    @covers("create_table", "INVALID_INPUT")
    def test_bad_names_of_tables_with_data(self, client: Client) -> None:
        """CreateTable: the same names are refused, before anything is written."""
        _refuses(client, "create_table", _BAD_NAMES)

    @covers("create_namespace", "INVALID_INPUT")
    def test_bad_namespace_names(self, client: Client) -> None:
        """CreateNamespace: code 13 for the same names."""
        _refuses(client, "create_namespace", _BAD_NAMES)

    @covers("rename_table", "INVALID_INPUT")
    @needs("create_table")
    def test_bad_new_names(self, client: Client) -> None:
        """RenameTable: code 13 for the same names, and the table keeps its own."""
        client.example("create_table", ["t"])
        for name in _BAD_NAMES:
            with client.unchanged(), raises("INVALID_INPUT"):
                client("rename_table", id=["t"], new_table_name=name)

    @covers("create_namespace", "NAMESPACE_ALREADY_EXISTS")
    @needs("declare_table")
    def test_namespace_named_like_a_table(self, client: Client) -> None:
        """Object Name: a name is unique among all objects of its namespace, so code 2 if a table has it."""
        client("declare_table", id=["a"])
        with client.unchanged(), raises("NAMESPACE_ALREADY_EXISTS"):
            client("create_namespace", id=["a"])

    @covers("declare_table", "TABLE_ALREADY_EXISTS")
    @needs("create_namespace", "create_table")
    def test_table_named_like_a_namespace(self, client: Client) -> None:
        """Object Name: and code 5 if a namespace has the name that a table is to get."""
        client("create_namespace", id=["a"])
        for operation in ("declare_table", "create_table"):
            with client.unchanged(), raises("TABLE_ALREADY_EXISTS"):
                client.example(operation, ["a"])


def _refuses(client: Client, operation: str, names: tuple[str, ...]) -> None:
    for name in names:
        with client.unchanged(), raises("INVALID_INPUT"):
            client.example(operation, [name])

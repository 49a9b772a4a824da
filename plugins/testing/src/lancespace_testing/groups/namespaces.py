"""Namespaces: creating, describing, listing and dropping them; and which names are names."""

from __future__ import annotations

from lancespace_testing.client import Client, raises
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import Feature, covers, for_each, needs

_PROPERTIES = {"owner": "me", "purpose": "test"}

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


class NamespaceTests(BackendFixtures):
    """CreateNamespace, DescribeNamespace, NamespaceExists, ListNamespaces, DropNamespace, Object Name."""

    def test_root_namespace(self, client: Client) -> None:
        """Objects & Relationships: the root namespace always exists, and a fresh one is empty."""
        client("describe_namespace", id=[])
        client("namespace_exists", id=[])
        assert client("list_namespaces", id=[]).namespaces == []
        assert client("list_tables", id=[]).tables == []

    def test_root_namespace_is_not_managed(self, client: Client) -> None:
        """Objects & Relationships: creating or dropping the root is out of scope, so refused; the code is left open."""
        with client.unchanged(), raises("NAMESPACE_ALREADY_EXISTS", "INVALID_INPUT", "UNSUPPORTED"):
            client("create_namespace", id=[])
        with client.unchanged(), raises("INVALID_INPUT", "UNSUPPORTED"):
            client("drop_namespace", id=[])

    @covers("create_namespace", "namespace_exists", "list_namespaces")
    def test_create_namespace(self, client: Client) -> None:
        """CreateNamespace: the namespace is there afterwards for every operation that can tell."""
        client("create_namespace", id=["a"])
        client("namespace_exists", id=["a"])
        client("describe_namespace", id=["a"])
        assert client("list_namespaces", id=[]).namespaces == ["a"]
        assert client("list_namespaces", id=["a"]).namespaces == []

    @needs(Feature.NESTED_NAMESPACES)
    def test_create_nested_namespaces(self, client: Client) -> None:
        """Objects & Relationships: namespaces nest, and a listing has the names of the children only."""
        for identifier in (["a"], ["a", "b"], ["a", "b", "c"]):
            client("create_namespace", id=identifier)
        client("namespace_exists", id=["a", "b", "c"])
        assert client("list_namespaces", id=[]).namespaces == ["a"]
        assert client("list_namespaces", id=["a"]).namespaces == ["b"]
        assert client("list_namespaces", id=["a", "b"]).namespaces == ["c"]

    @needs(Feature.NAMESPACE_PROPERTIES)
    @covers("describe_namespace")
    def test_namespace_properties(self, client: Client) -> None:
        """CreateNamespace: properties are stored and answered, here and by DescribeNamespace."""
        created = client("create_namespace", id=["a"], properties=_PROPERTIES).properties
        for found in (created, client("describe_namespace", id=["a"]).properties):
            assert found is not None
            assert _PROPERTIES.items() <= found.items()

    @needs(Feature.NAMESPACE_PROPERTIES)
    def test_namespace_without_properties(self, client: Client) -> None:
        """DescribeNamespaceResponse: where properties are supported and none are set, an empty object, not null."""
        client("create_namespace", id=["a"])
        assert client("describe_namespace", id=["a"]).properties is not None

    @covers("create_namespace", "NAMESPACE_ALREADY_EXISTS")
    def test_create_existing_namespace(self, client: Client) -> None:
        """CreateNamespace: code 2 if the name is taken, and the namespace stays what it was."""
        client("create_namespace", id=["a"], properties=_PROPERTIES)
        before = client("describe_namespace", id=["a"]).properties
        for mode in (None, "Create", "create", "CREATE"):
            client.refuses(
                "NAMESPACE_ALREADY_EXISTS", "create_namespace", id=["a"], mode=mode, properties={"owner": "you"}
            )
        assert client("describe_namespace", id=["a"]).properties == before

    def test_create_namespace_exist_ok(self, client: Client) -> None:
        """CreateNamespace: with ExistOk, in any spelling, the existing namespace is kept."""
        client("create_namespace", id=["a"], properties=_PROPERTIES)
        before = client("describe_namespace", id=["a"]).properties
        for mode in ("ExistOk", "exist_ok", "EXIST_OK"):
            client("create_namespace", id=["a"], mode=mode, properties={"owner": "you"})
            assert client("describe_namespace", id=["a"]).properties == before
        client("create_namespace", id=["b"], mode="ExistOk")
        client("describe_namespace", id=["b"])

    @needs(Feature.NAMESPACE_PROPERTIES)
    def test_create_namespace_overwrite(self, client: Client) -> None:
        """CreateNamespace: with Overwrite, the old namespace is dropped and a new one has its name."""
        client("create_namespace", id=["a"], properties=_PROPERTIES)
        client("create_namespace", id=["a"], mode="overwrite", properties={"owner": "you"})
        found = client("describe_namespace", id=["a"]).properties
        assert found["owner"] == "you"
        assert "purpose" not in found
        assert client("list_namespaces", id=[]).namespaces == ["a"]

    @covers("create_namespace", "drop_namespace", "INVALID_INPUT")
    def test_unknown_namespace_modes(self, client: Client) -> None:
        """CreateNamespace, DropNamespace: code 13 for a mode or behavior that the spec does not know."""
        client.refuses("INVALID_INPUT", "create_namespace", id=["a"], mode="perhaps")
        client("create_namespace", id=["a"])
        client.refuses("INVALID_INPUT", "drop_namespace", id=["a"], mode="perhaps")
        client.refuses("INVALID_INPUT", "drop_namespace", id=["a"], behavior="perhaps")

    @covers("drop_namespace")
    def test_drop_namespace(self, client: Client) -> None:
        """DropNamespace: an empty namespace is gone, its siblings are not, and its name is free again."""
        for name in ("a", "ab", "b"):
            client("create_namespace", id=[name])
        client("drop_namespace", id=["a"])
        client.refuses("NAMESPACE_NOT_FOUND", "namespace_exists", id=["a"])
        assert sorted(client("list_namespaces", id=[]).namespaces) == ["ab", "b"]
        client("create_namespace", id=["a"])
        client("namespace_exists", id=["a"])

    def test_drop_missing_namespace_skip(self, client: Client) -> None:
        """DropNamespace: with the mode Skip, a namespace that is not there is no error."""
        for mode in ("Skip", "skip", "SKIP"):
            with client.unchanged():
                client("drop_namespace", id=["absent"], mode=mode)

    @covers("drop_namespace", "NAMESPACE_NOT_EMPTY")
    @needs(Feature.NESTED_NAMESPACES)
    def test_drop_namespace_with_children(self, client: Client) -> None:
        """DropNamespace: code 3 if the namespace holds another one and the behavior is Restrict, the default."""
        client("create_namespace", id=["a"])
        client("create_namespace", id=["a", "b"])
        for behavior in (None, "Restrict", "restrict"):
            client.refuses("NAMESPACE_NOT_EMPTY", "drop_namespace", id=["a"], behavior=behavior)

    @covers("drop_namespace", "NAMESPACE_NOT_EMPTY")
    def test_drop_namespace_with_tables(self, client: Client) -> None:
        """DropNamespace: code 3 if the namespace holds a table, even one that is only declared."""
        client("create_namespace", id=["a"])
        client("declare_table", id=["a", "t"])
        client.refuses("NAMESPACE_NOT_EMPTY", "drop_namespace", id=["a"])
        client("table_exists", id=["a", "t"])

    @needs(Feature.CASCADE, Feature.NESTED_NAMESPACES)
    def test_drop_namespace_cascade(self, client: Client) -> None:
        """DropNamespace: with Cascade, everything below is dropped too, and nothing beside it."""
        for identifier in (["a"], ["a", "b"], ["ab"]):
            client("create_namespace", id=identifier)
            client.example("create_table", [*identifier, "t"])
        client("drop_namespace", id=["a"], behavior="Cascade")
        assert client("list_namespaces", id=[]).namespaces == ["ab"]
        client("table_exists", id=["ab", "t"])
        for identifier in (["a", "t"], ["a", "b", "t"]):
            client.refuses("NAMESPACE_NOT_FOUND", "table_exists", id=identifier)

    @needs(Feature.CASCADE, Feature.NESTED_NAMESPACES)
    def test_namespace_after_cascade_is_empty(self, client: Client) -> None:
        """DropNamespace: what was dropped with Cascade does not come back with a namespace of the same name."""
        client("create_namespace", id=["a"])
        client("create_namespace", id=["a", "b"])
        client.example("create_table", ["a", "t"])
        client("drop_namespace", id=["a"], behavior="CASCADE")
        client("create_namespace", id=["a"])
        assert client("list_tables", id=["a"]).tables == []
        assert client("list_namespaces", id=["a"]).namespaces == []

    @needs(Feature.NESTED_NAMESPACES)
    def test_similar_names_do_not_mix(self, client: Client) -> None:
        """ListTables, ListNamespaces: a namespace whose name begins like another's shows nothing of it."""
        for identifier in (["a"], ["ab"], ["a", "b"], ["ab", "x"]):
            client("create_namespace", id=identifier)
        client("declare_table", id=["ab", "t"])
        client("declare_table", id=["a", "b", "u"])
        assert client("list_tables", id=["a"]).tables == []
        assert client("list_namespaces", id=["a"]).namespaces == ["b"]
        assert client("list_tables", id=["ab"]).tables == ["t"]
        assert client("list_namespaces", id=["ab"]).namespaces == ["x"]

    def test_table_names_come_back(self, client: Client) -> None:
        """Object Name: a table is listed and found under exactly the name it was given."""
        for name in _GOOD_NAMES:
            client("declare_table", id=[name])
            client("table_exists", id=[name])
            client("describe_table", id=[name])
        assert sorted(client("list_tables", id=[]).tables) == sorted(_GOOD_NAMES)

    def test_namespace_names_come_back(self, client: Client) -> None:
        """Object Name: so is a namespace, and its tables are found below it."""
        for name in _GOOD_NAMES:
            client("create_namespace", id=[name])
            client("namespace_exists", id=[name])
            client("declare_table", id=[name, "t"])
            assert client("list_tables", id=[name]).tables == ["t"]
        assert sorted(client("list_namespaces", id=[]).namespaces) == sorted(_GOOD_NAMES)

    def test_names_differ_by_case(self, client: Client) -> None:
        """Object Name: two names are the same name only if they are equal."""
        client("declare_table", id=["name"])
        client("declare_table", id=["NAME"])
        client("drop_table", id=["name"])
        assert client("list_tables", id=[]).tables == ["NAME"]

    @for_each(("declare_table", "create_table", "create_namespace"), "INVALID_INPUT")
    def test_bad_names(self, client: Client, operation: str) -> None:
        """Object Name: code 13 for a name that is none, or that would lead out of the catalog."""
        for name in _BAD_NAMES:
            client.refuses_example("INVALID_INPUT", operation, [name])

    @covers("rename_table", "INVALID_INPUT")
    def test_bad_new_names(self, table: Client) -> None:
        """RenameTable: code 13 for the same names, and the table keeps its own."""
        for name in _BAD_NAMES:
            table.refuses("INVALID_INPUT", "rename_table", new_table_name=name)

    @covers("create_namespace", "NAMESPACE_ALREADY_EXISTS")
    def test_namespace_named_like_a_table(self, client: Client) -> None:
        """Object Name: a name is unique among all objects of its namespace, so code 2 if a table has it."""
        client("declare_table", id=["a"])
        client.refuses("NAMESPACE_ALREADY_EXISTS", "create_namespace", id=["a"])

    @covers("declare_table", "TABLE_ALREADY_EXISTS")
    def test_table_named_like_a_namespace(self, client: Client) -> None:
        """Object Name: and code 5 if a namespace has the name that a table is to get."""
        client("create_namespace", id=["a"])
        for operation in ("declare_table", "create_table"):
            client.refuses_example("TABLE_ALREADY_EXISTS", operation, ["a"])

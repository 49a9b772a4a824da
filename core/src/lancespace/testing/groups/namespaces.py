"""Namespaces: creating, describing, listing and dropping them."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import Feature, covers, needs

_PROPERTIES = {"owner": "me", "purpose": "test"}


class NamespaceTests(BackendFixtures):
    """CreateNamespace, DescribeNamespace, NamespaceExists, ListNamespaces, DropNamespace."""

    @needs("list_namespaces", "list_tables", "describe_namespace", "namespace_exists")
    def test_root_namespace(self, client: Client) -> None:
        """Objects & Relationships: the root namespace always exists, and a fresh one is empty."""
        client("describe_namespace", id=[])
        client("namespace_exists", id=[])
        assert client("list_namespaces", id=[]).namespaces == []
        assert client("list_tables", id=[]).tables == []

    @needs("create_namespace", "drop_namespace")
    def test_root_namespace_is_not_managed(self, client: Client) -> None:
        """Objects & Relationships: creating or dropping the root is out of scope, so refused; the code is left open."""
        with client.unchanged(), raises("NAMESPACE_ALREADY_EXISTS", "INVALID_INPUT", "UNSUPPORTED"):
            client("create_namespace", id=[])
        with client.unchanged(), raises("INVALID_INPUT", "UNSUPPORTED"):
            client("drop_namespace", id=[])

    @covers("create_namespace")
    @covers("namespace_exists")
    @covers("list_namespaces")
    @needs("describe_namespace")
    def test_create_namespace(self, client: Client) -> None:
        """CreateNamespace: the namespace is there afterwards for every operation that can tell."""
        client("create_namespace", id=["a"])
        client("namespace_exists", id=["a"])
        client("describe_namespace", id=["a"])
        assert client("list_namespaces", id=[]).namespaces == ["a"]
        assert client("list_namespaces", id=["a"]).namespaces == []

    @needs("create_namespace", "list_namespaces", "namespace_exists", Feature.NESTED_NAMESPACES)
    def test_create_nested_namespaces(self, client: Client) -> None:
        """Objects & Relationships: namespaces nest, and a listing has the names of the children only."""
        for identifier in (["a"], ["a", "b"], ["a", "b", "c"]):
            client("create_namespace", id=identifier)
        client("namespace_exists", id=["a", "b", "c"])
        assert client("list_namespaces", id=[]).namespaces == ["a"]
        assert client("list_namespaces", id=["a"]).namespaces == ["b"]
        assert client("list_namespaces", id=["a", "b"]).namespaces == ["c"]

    @needs("create_namespace", "describe_namespace", Feature.NAMESPACE_PROPERTIES)
    @covers("describe_namespace")
    def test_namespace_properties(self, client: Client) -> None:
        """CreateNamespace: properties are stored and answered, here and by DescribeNamespace."""
        created = client("create_namespace", id=["a"], properties=_PROPERTIES).properties
        for found in (created, client("describe_namespace", id=["a"]).properties):
            assert found is not None
            assert _PROPERTIES.items() <= found.items()

    @needs("create_namespace", "describe_namespace", Feature.NAMESPACE_PROPERTIES)
    def test_namespace_without_properties(self, client: Client) -> None:
        """DescribeNamespaceResponse: where properties are supported and none are set, an empty object, not null."""
        client("create_namespace", id=["a"])
        assert client("describe_namespace", id=["a"]).properties is not None

    @covers("create_namespace", "NAMESPACE_ALREADY_EXISTS")
    @needs("describe_namespace", "list_namespaces")
    def test_create_existing_namespace(self, client: Client) -> None:
        """CreateNamespace: code 2 if the name is taken, and the namespace stays what it was."""
        client("create_namespace", id=["a"], properties=_PROPERTIES)
        before = client("describe_namespace", id=["a"]).properties
        for mode in (None, "Create", "create", "CREATE"):
            with client.unchanged(), raises("NAMESPACE_ALREADY_EXISTS"):
                client("create_namespace", id=["a"], mode=mode, properties={"owner": "you"})
        assert client("describe_namespace", id=["a"]).properties == before

    @needs("create_namespace", "describe_namespace")
    def test_create_namespace_exist_ok(self, client: Client) -> None:
        """CreateNamespace: with ExistOk, in any spelling, the existing namespace is kept."""
        client("create_namespace", id=["a"], properties=_PROPERTIES)
        before = client("describe_namespace", id=["a"]).properties
        for mode in ("ExistOk", "exist_ok", "EXIST_OK"):
            client("create_namespace", id=["a"], mode=mode, properties={"owner": "you"})
            assert client("describe_namespace", id=["a"]).properties == before
        client("create_namespace", id=["b"], mode="ExistOk")
        client("describe_namespace", id=["b"])

    @needs("create_namespace", "describe_namespace", "list_namespaces", Feature.NAMESPACE_PROPERTIES)
    def test_create_namespace_overwrite(self, client: Client) -> None:
        """CreateNamespace: with Overwrite, the old namespace is dropped and a new one has its name."""
        client("create_namespace", id=["a"], properties=_PROPERTIES)
        client("create_namespace", id=["a"], mode="overwrite", properties={"owner": "you"})
        found = client("describe_namespace", id=["a"]).properties
        assert found["owner"] == "you"
        assert "purpose" not in found
        assert client("list_namespaces", id=[]).namespaces == ["a"]

    @covers("create_namespace", "INVALID_INPUT")
    @covers("drop_namespace", "INVALID_INPUT")
    def test_unknown_namespace_modes(self, client: Client) -> None:
        """CreateNamespace, DropNamespace: code 13 for a mode or behavior that the spec does not know."""
        with client.unchanged(), raises("INVALID_INPUT"):
            client("create_namespace", id=["a"], mode="perhaps")
        client("create_namespace", id=["a"])
        with client.unchanged(), raises("INVALID_INPUT"):
            client("drop_namespace", id=["a"], mode="perhaps")
        with client.unchanged(), raises("INVALID_INPUT"):
            client("drop_namespace", id=["a"], behavior="perhaps")

    @covers("drop_namespace")
    @needs("create_namespace", "namespace_exists", "list_namespaces")
    def test_drop_namespace(self, client: Client) -> None:
        """DropNamespace: an empty namespace is gone, its siblings are not, and its name is free again."""
        for name in ("a", "ab", "b"):
            client("create_namespace", id=[name])
        client("drop_namespace", id=["a"])
        with raises("NAMESPACE_NOT_FOUND"):
            client("namespace_exists", id=["a"])
        assert sorted(client("list_namespaces", id=[]).namespaces) == ["ab", "b"]
        client("create_namespace", id=["a"])
        client("namespace_exists", id=["a"])

    @needs("drop_namespace")
    def test_drop_missing_namespace_skip(self, client: Client) -> None:
        """DropNamespace: with the mode Skip, a namespace that is not there is no error."""
        for mode in ("Skip", "skip", "SKIP"):
            with client.unchanged():
                client("drop_namespace", id=["absent"], mode=mode)

    @covers("drop_namespace", "NAMESPACE_NOT_EMPTY")
    @needs("create_namespace", Feature.NESTED_NAMESPACES)
    def test_drop_namespace_with_children(self, client: Client) -> None:
        """DropNamespace: code 3 if the namespace holds another one and the behavior is Restrict, the default."""
        client("create_namespace", id=["a"])
        client("create_namespace", id=["a", "b"])
        for behavior in (None, "Restrict", "restrict"):
            with client.unchanged(), raises("NAMESPACE_NOT_EMPTY"):
                client("drop_namespace", id=["a"], behavior=behavior)

    @covers("drop_namespace", "NAMESPACE_NOT_EMPTY")
    @needs("create_namespace", "declare_table", "table_exists")
    def test_drop_namespace_with_tables(self, client: Client) -> None:
        """DropNamespace: code 3 if the namespace holds a table, even one that is only declared."""
        client("create_namespace", id=["a"])
        client("declare_table", id=["a", "t"])
        with client.unchanged(), raises("NAMESPACE_NOT_EMPTY"):
            client("drop_namespace", id=["a"])
        client("table_exists", id=["a", "t"])

    @needs("create_namespace", "drop_namespace", "create_table", "table_exists", "list_namespaces")
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
            with raises("NAMESPACE_NOT_FOUND"):
                client("table_exists", id=identifier)

    @needs("create_namespace", "drop_namespace", "create_table", "list_tables", "list_namespaces")
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

    @needs("create_namespace", "declare_table", "list_tables", "list_namespaces", Feature.NESTED_NAMESPACES)
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

"""V1, V2 and compatibility mode: where tables are on disk."""

from __future__ import annotations

from pathlib import Path

from plugins.dir.tests.modes import WITH_LISTING, WITH_MANIFEST, Properties, directories, is_hashed
from plugins.dir.tests.support import MANIFEST, OURS, RESERVED, V1_ONLY, V2_ONLY, Client, outcome, rows, tree


@WITH_LISTING
def test_root_tables_are_in_directories_of_their_name(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)

    client.declare(("t",))

    assert directories(tmp_path) == {"t.lance"}
    assert [path.name for path in (tmp_path / "t.lance").iterdir()] == [RESERVED]
    client.create_table(("t",))
    assert client.place(("t",)) == "t.lance"


def test_without_listing_root_tables_are_in_hashed_directories(tmp_path: Path):
    client = Client(OURS, tmp_path, **V2_ONLY)

    client.create_table(("t",))

    (location,) = directories(tmp_path)
    assert is_hashed(location, "t")
    assert client.place(("t",)) == location


@WITH_MANIFEST
def test_tables_of_namespaces_are_in_hashed_directories(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.create_namespace(("a",))
    client.create_namespace(("a", "b"))

    client.create_table(("a", "b", "t"))

    (location,) = directories(tmp_path)
    assert is_hashed(location, "a$b$t")
    assert rows(tmp_path)["a$b$t"]["location"] == location


@WITH_MANIFEST
def test_a_table_that_is_created_again_is_in_another_directory(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.create_namespace(("a",))
    client.create_table(("a", "t"))
    first = client.place(("a", "t"))
    client.deregister(("a", "t"))

    client.create_table(("a", "t"))

    assert client.place(("a", "t")) != first
    assert directories(tmp_path) == {first, client.place(("a", "t"))}


def test_v1_has_one_level_and_says_so(tmp_path: Path):
    client = Client(OURS, tmp_path, **V1_ONLY)

    assert outcome(lambda: client.create_namespace(("a",))) == "UnsupportedOperation"
    assert outcome(lambda: client.create_table(("a", "t"))) == "NamespaceNotFound"
    assert outcome(lambda: client.drop_namespace(("a",))) == "UnsupportedOperation"
    assert outcome(lambda: client.tables(("a",))) == "NamespaceNotFound"
    assert client.namespaces() == []
    assert client.has_namespace(())
    assert not client.has_namespace(("a",))
    assert not tree(tmp_path / MANIFEST)

"""V1, V2 and compatibility mode: what is where on disk, what shows, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.dir.tests.support import (
    COMPATIBILITY,
    DEREGISTERED,
    MANIFEST,
    MODES,
    OK,
    OURS,
    RESERVED,
    V1_ONLY,
    V2_ONLY,
    Client,
    Id,
    outcome,
    rows,
    tree,
    write_table,
)

EVERY_MODE = pytest.mark.parametrize("properties", MODES.values(), ids=MODES)
WITH_MANIFEST = pytest.mark.parametrize("properties", [V2_ONLY, COMPATIBILITY], ids=["V2", "compatibility"])
WITH_LISTING = pytest.mark.parametrize("properties", [V1_ONLY, COMPATIBILITY], ids=["V1", "compatibility"])

Properties = dict[str, str]


def directories(root: Path) -> set[str]:
    """The table directories of a root."""
    return {path.name for path in root.iterdir() if path.name != MANIFEST}


def is_hashed(location: str, object_id: str) -> bool:
    """Whether a location is of the form ``<8 hex>_<object_id>``."""
    prefix, _, name = location.partition("_")
    return len(prefix) == 8 and set(prefix) <= set("0123456789abcdef") and name == object_id


# Where tables are.


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


# What shows.


def test_the_manifest_and_the_directory_are_listed_together(tmp_path: Path):
    Client(OURS, tmp_path, **V2_ONLY).create_table(("b",))
    client = Client(OURS, tmp_path)
    client.create_table(("d",))
    for name in ("a", "c", "e"):
        write_table(tmp_path, f"{name}.lance")

    assert client.tables() == ["a", "b", "c", "d", "e"]
    assert client.all_tables() == ["a", "b", "c", "d", "e"]
    assert Client(OURS, tmp_path, **V1_ONLY).tables() == ["a", "c", "d", "e"]
    assert Client(OURS, tmp_path, **V2_ONLY).tables() == ["b", "d"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_the_merged_listing_comes_in_pages_of_any_size(tmp_path: Path, limit: int):
    client = Client(OURS, tmp_path)
    for name in ("b", "d"):
        client.create_table((name,))
    for name in ("a", "c", "e"):
        write_table(tmp_path, f"{name}.lance")
    listed: list[str] = []
    token = None
    while True:
        page = client.list_tables(limit=limit, page_token=token)
        listed += page.tables
        token = page.page_token
        assert len(page.tables) <= limit
        if token is None:
            break

    assert listed == ["a", "b", "c", "d", "e"]


def test_the_manifest_has_the_first_word(tmp_path: Path):
    """Where the manifest leads elsewhere, the directory of the name is another table that does not show."""
    Client(OURS, tmp_path, **V2_ONLY).create_table(("t",))
    write_table(tmp_path, "t.lance")
    client = Client(OURS, tmp_path)

    assert client.tables() == ["t"]
    assert is_hashed(client.place(("t",)) or "", "t")
    client.drop(("t",))
    assert client.place(("t",)) == "t.lance"


@WITH_LISTING
def test_what_cannot_be_a_table_is_not_listed(tmp_path: Path, properties: Properties):
    write_table(tmp_path, "good.lance")
    for name in ("empty.lance", ".lance", "a$b.lance", "other"):
        (tmp_path / name).mkdir()
    for name in (".lance", "a$b.lance", "other"):
        (tmp_path / name / "file").touch()
    (tmp_path / "file.lance").touch()
    client = Client(OURS, tmp_path, **properties)

    assert client.tables() == ["good"]
    assert client.all_tables() == ["good"]
    for name in ("empty", "file"):
        assert not client.has_table((name,))


@EVERY_MODE
def test_declared_tables_are_told_from_created_ones(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.declare(("declared",))
    client.create_table(("created",))

    assert client.tables() == ["created", "declared"]
    assert client.tables(include_declared=True) == ["created", "declared"]
    assert client.tables(include_declared=False) == ["created"]
    assert client.all_tables(include_declared=False) == ["created"]
    assert client.tables(include_declared=False, limit=1) == ["created"]
    assert client.is_only_declared(("declared",))
    assert not client.is_only_declared(("created",))
    assert client.describe(("declared",)).is_only_declared is None

    client.create_table(("declared",))
    assert not client.is_only_declared(("declared",))


# Deregistered tables.


@pytest.mark.parametrize("deregisters", [V1_ONLY, COMPATIBILITY], ids=["V1", "compatibility"])
@EVERY_MODE
def test_deregistered_tables_show_in_no_mode(tmp_path: Path, deregisters: Properties, properties: Properties):
    write_table(tmp_path, "t.lance")
    before = set((tmp_path / "t.lance").rglob("*"))

    Client(OURS, tmp_path, **deregisters).deregister(("t",))

    client = Client(OURS, tmp_path, **properties)
    assert client.tables() == []
    assert client.all_tables() == []
    assert not client.has_table(("t",))
    assert outcome(lambda: client.describe(("t",))) == "TableNotFound"
    assert outcome(lambda: client.deregister(("t",))) == "TableNotFound"
    assert set((tmp_path / "t.lance").rglob("*")) - before == {tmp_path / "t.lance" / DEREGISTERED}


@EVERY_MODE
def test_deregistered_tables_can_be_registered_again(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.create_table(("t",))
    place = client.place(("t",)) or ""

    for _ in range(2):
        client.deregister(("t",))
        assert client.tables() == []
        client.register(("t",), place)
        assert client.tables() == ["t"]
        assert client.place(("t",)) == place
    assert not client.is_only_declared(("t",))
    assert not (tmp_path / place / DEREGISTERED).exists()


@WITH_MANIFEST
def test_tables_are_registered_under_any_name_and_by_any_form_of_their_location(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.create_namespace(("a",))
    write_table(tmp_path, "inside/somewhere")

    for name, location in (
        ("t", "inside/somewhere"),
        ("u", str(tmp_path / "inside/somewhere")),
        ("v", (tmp_path / "inside/somewhere").as_uri()),
    ):
        client.register(("a", name), location)
        assert rows(tmp_path)[f"a${name}"]["location"] == "inside/somewhere"
        assert not client.is_only_declared(("a", name))


@WITH_LISTING
def test_deregistered_tables_can_be_dropped(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.create_table(("t",))
    client.deregister(("t",))

    client.drop(("t",))

    assert directories(tmp_path) == set()
    assert outcome(lambda: client.drop(("t",))) == "TableNotFound"


def test_v1_keeps_the_name_of_a_deregistered_table(tmp_path: Path):
    client = Client(OURS, tmp_path, **V1_ONLY)
    client.create_table(("t",))
    client.deregister(("t",))

    assert outcome(lambda: client.create_table(("t",))) == "TableAlreadyExists"
    client.drop(("t",))
    assert outcome(lambda: client.create_table(("t",))) == OK


def test_compatibility_gives_the_name_of_a_deregistered_table_to_another(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_table(("t",))
    client.deregister(("t",))

    client.create_table(("t",))

    assert is_hashed(client.place(("t",)) or "", "t")
    client.drop(("t",))
    assert directories(tmp_path) == {"t.lance"}
    assert client.tables() == []
    client.register(("t",), "t.lance")
    assert client.tables() == ["t"]


def test_overwriting_a_registration_leaves_one_table_of_the_name(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_table(("t",))
    write_table(tmp_path, "other")

    assert outcome(lambda: client.register(("t",), "other")) == "TableAlreadyExists"
    client.register(("t",), "other", mode="Overwrite")

    assert client.place(("t",)) == "other"
    client.deregister(("t",))
    assert client.tables() == []


# Renamed tables.


@pytest.mark.parametrize("target", [("u",), ("a", "u"), ("a", "t")], ids=".".join)
def test_renamed_tables_stay_in_place_and_have_one_name(tmp_path: Path, target: Id):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    write_table(tmp_path, "t.lance")

    client.rename(("t",), target)

    assert directories(tmp_path) == {"t.lance"}
    assert client.place(target) == "t.lance"
    assert client.all_tables() == ["$".join(target)]
    assert not client.has_table(("t",))
    assert Client(OURS, tmp_path, **V1_ONLY).tables() == []
    assert Client(OURS, tmp_path, **V2_ONLY).all_tables() == ["$".join(target)]
    assert outcome(lambda: client.rename(("t",), ("x",))) == "TableNotFound"


def test_a_table_that_gets_its_name_back_shows_again(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_table(("t",))
    client.rename(("t",), ("u",))

    client.rename(("u",), ("t",))

    for properties in MODES.values():
        assert Client(OURS, tmp_path, **properties).tables() == ["t"]


def test_the_old_name_of_a_renamed_table_is_free(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_table(("t",))
    client.rename(("t",), ("u",))

    client.create_table(("t",))
    client.drop(("t",))

    assert client.tables() == ["u"]
    assert not client.is_only_declared(("u",))


def test_a_rename_that_is_refused_changes_nothing(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    client.create_table(("t",))
    write_table(tmp_path, "v.lance")
    before = tree(tmp_path)

    for target, refused in (
        (("t",), "TableAlreadyExists"),
        (("v",), "TableAlreadyExists"),
        (("a",), "TableAlreadyExists"),
        (("missing", "t"), "NamespaceNotFound"),
    ):
        for source in (("t",), ("v",)):
            assert outcome(lambda source=source, target=target: client.rename(source, target)) == refused  # type: ignore[misc]
    assert tree(tmp_path) == before


def test_v1_renames_the_directory(tmp_path: Path):
    client = Client(OURS, tmp_path, **V1_ONLY)
    client.create_table(("t",))
    client.create_table(("taken",))

    assert outcome(lambda: client.rename(("t",), ("taken",))) == "TableAlreadyExists"
    assert outcome(lambda: client.rename(("missing",), ("u",))) == "TableNotFound"
    assert outcome(lambda: client.rename(("t",), ("a", "u"))) == "NamespaceNotFound"
    client.rename(("t",), ("u",))

    assert directories(tmp_path) == {"u.lance", "taken.lance"}
    assert client.tables() == ["taken", "u"]


# What is left alone.


@pytest.mark.parametrize(
    "location", ["../out", "/etc/out", "file:///etc/out", "s3://bucket/out", MANIFEST, f"{MANIFEST}/x"]
)
@EVERY_MODE
def test_locations_outside_the_root_are_refused(tmp_path: Path, properties: Properties, location: str):
    root = tmp_path / "root"
    write_table(tmp_path, "out")
    client = Client(OURS, root, **properties)
    before = tree(tmp_path)

    assert outcome(lambda: client.register(("t",), location)) == "InvalidInput"
    assert outcome(lambda: client.declare(("t",), location=location)) == "InvalidInput"
    assert tree(tmp_path) == before


@pytest.mark.parametrize("start", ["missing", "empty", "v1", "full"])
@EVERY_MODE
def test_connecting_and_reading_write_nothing(tmp_path: Path, properties: Properties, start: str):
    root = tmp_path / "root"
    if start != "missing":
        root.mkdir()
    if start == "v1":
        write_table(root, "t.lance")
    if start == "full":
        writer = Client(OURS, root)
        writer.create_namespace(("a",))
        writer.create_table(("t",))
        writer.declare(("a", "d"))
        writer.create_table(("gone",))
        writer.deregister(("gone",))
    before = tree(tmp_path)

    client = Client(OURS, root, **properties)
    is_there = {"missing": False, "empty": False, "v1": properties != V2_ONLY, "full": True}[start]
    assert client.has_table(("t",)) == is_there
    assert client.tables() == (["t"] if is_there else [])
    assert client.namespaces() == (["a"] if start == "full" and properties != V1_ONLY else [])
    assert client.describe_namespace(()) == {}
    assert len(client.all_tables()) == len(client.tables()) + len(client.namespaces())
    assert outcome(lambda: client.describe(("missing",))) == "TableNotFound"
    assert outcome(lambda: client.describe(("missing", "t"))) == "NamespaceNotFound"
    if is_there:
        assert client.describe(("t",), load_detailed_metadata=True).version == 1
    client.close()

    assert tree(tmp_path) == before


@pytest.mark.parametrize("operation", ["drop", "deregister"])
@EVERY_MODE
def test_changes_that_are_refused_write_nothing(tmp_path: Path, properties: Properties, operation: str):
    root = tmp_path / "root"
    client = Client(OURS, root, **properties)

    assert outcome(lambda: getattr(client, operation)(("t",))) == "TableNotFound"
    assert outcome(lambda: client.rename(("t",), ("u",))) == "TableNotFound"
    assert outcome(lambda: client.create_table(("a", "t"))) == "NamespaceNotFound"
    assert outcome(lambda: client.drop_namespace(("a",))) in {"NamespaceNotFound", "UnsupportedOperation"}
    assert outcome(lambda: client.register(("t",), "missing")) == "InvalidInput"

    assert not root.exists()

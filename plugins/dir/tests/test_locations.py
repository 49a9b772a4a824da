"""One location, one table: a location that another table has, contains or lies inside is refused."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest
from lance_namespace import CountTableRowsRequest, CreateTableRequest, InvalidInputError, InvalidTableStateError

import lancespace
from lancespace_dir import checks
from lancespace_dir.manifest.reader import ManifestReader
from lancespace_dir.manifest.schema import NAMESPACE, Entry
from lancespace_testing.samples import COUNT
from plugins.dir.tests.modes import WITH_MANIFEST, Properties
from plugins.dir.tests.support import (
    COMPATIBILITY,
    DATA,
    OK,
    OURS,
    PYLANCE,
    V1_ONLY,
    V2_ONLY,
    Client,
    Id,
    manifest_of,
    outcome,
    rows,
    tree,
    write_table,
)

TABLES: dict[str, Id] = {
    "root": ("t",),
    "child": ("a", "t"),
    "declared": ("a", "d"),
    "chosen": ("a", "c"),
    "spaced": ("a", "s"),
    "renamed": ("a", "r"),
    "V1": ("v",),
}
CHOSEN = {"chosen": "deep/place", "spaced": "deep er/pläce"}
PLACES = {**CHOSEN, "V1": "v.lance"}
SPELLINGS = ("relative", "absolute", "url", "escaped", "inside", "inside a url", "outside")


def combinations() -> list[tuple[str, str, str, str]]:
    return [
        (mode, operation, table, spelling)
        for mode in ("V2", "compatibility")
        for operation in ("declare", "register")
        for table in TABLES
        for spelling in SPELLINGS
        if (spelling != "outside" or table in CHOSEN)
        and (table, mode) != ("V1", "V2")
        and (table, operation) != ("declared", "register")
    ]


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A catalog of each mode. What is refused changes nothing, so that one is enough for all combinations."""
    made = {}
    for mode, properties in (("V2", V2_ONLY), ("compatibility", COMPATIBILITY)):
        root = made[mode] = tmp_path_factory.mktemp(mode)
        client = Client(OURS, root, **properties)
        client.create_namespace(("a",))
        for table in (("t",), ("a", "t"), ("r",)):
            client.create_table(table)
        client.rename(("r",), ("a", "r"))
        client.declare(("a", "d"))
        for name, location in CHOSEN.items():
            write_table(root, location)
            write_table(root, location.partition("/")[0])
            client.register(TABLES[name], location)
        write_table(root, PLACES["V1"])
        for name, names in TABLES.items():
            if name != "declared":
                write_table(root, f"{PLACES.get(name) or client.place(names)}/inner")
        client.close()
    return made


def spelled(root: Path, location: str, spelling: str) -> str:
    """One of the ways to name a location, or one inside or around it."""
    url = (root / location).as_uri()
    return {
        "relative": location,
        "absolute": f"{root / location}/",
        "url": url,
        "escaped": f"{root.as_uri()}/{url.removeprefix(root.as_uri() + '/').replace('e', '%65')}",
        "inside": f"{location}/inner",
        "inside a url": f"{url}/inner/",
        "outside": location.partition("/")[0],
    }[spelling]


@pytest.mark.parametrize(("mode", "operation", "table", "spelling"), combinations())
def test_the_location_of_another_table_is_refused(
    roots: dict[str, Path], mode: str, operation: str, table: str, spelling: str
):
    root = roots[mode]
    client = Client(OURS, root, **{"V2": V2_ONLY, "compatibility": COMPATIBILITY}[mode])
    names = TABLES[table]
    location = spelled(root, PLACES.get(table) or client.place(names) or "", spelling)
    before = rows(root)

    with pytest.raises(InvalidInputError, match=rf"is that of the table '{'.'.join(names)}'"):
        getattr(client, operation)(("a", "new"), location=location)

    assert rows(root) == before


def test_there_are_as_many_combinations_as_were_tried():
    assert len(combinations()) >= 104


@WITH_MANIFEST
def test_locations_that_only_look_alike_are_free(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.declare(("one",), location="deep/place")

    for name, location in (("a", "deep/place2"), ("b", "deep/Place"), ("c", "deep/plac"), ("d", "place"), ("e", "d")):
        client.declare((name,), location=location)
    assert len(rows(tmp_path)) == 6


@pytest.mark.parametrize("location", ["link", "link/inner", "links/link", "link.lance"])
@WITH_MANIFEST
def test_a_location_that_leads_over_a_symbolic_link_is_refused(tmp_path: Path, properties: Properties, location: str):
    """It may be that of another table: a drop would delete its files."""
    client = Client(OURS, tmp_path / "root", **properties)
    client.create_table(("t",))
    place = tmp_path / "root" / (client.place(("t",)) or "")
    write_table(place, "inner")
    (tmp_path / "root/links").mkdir()
    for link in ("link", "links/link", "link.lance"):
        (tmp_path / "root" / link).symlink_to(place)

    for operation in ("declare", "register"):
        with pytest.raises(InvalidInputError, match=r"symbolic link|that of the table"):
            getattr(client, operation)(("new",), location=location)
    (tmp_path / "link").symlink_to(tmp_path / "root")
    behind = Client(OURS, tmp_path / "link", **properties)  # A root may be a link: its tables have one location each.
    behind.declare(("new",), location="spare")


@pytest.mark.parametrize("properties", [COMPATIBILITY, V1_ONLY], ids=["compatibility", "V1"])
def test_a_drop_of_a_v1_table_that_is_a_symbolic_link_keeps_the_files(
    tmp_path: Path, properties: Properties, caplog: pytest.LogCaptureFixture
):
    root = tmp_path / "root"
    for place in (root / "t.lance", tmp_path / "out"):
        write_table(place.parent, place.name)
    (root / "inside.lance").symlink_to(root / "t.lance")
    (root / "outside.lance").symlink_to(tmp_path / "out")
    client = Client(OURS, root, **properties)
    before = tree(tmp_path / "out"), tree(root / "t.lance")

    with caplog.at_level(logging.WARNING):
        client.drop(("inside",))
        client.drop(("outside",))

    assert caplog.text.count("kept its files") == 2
    assert client.tables() == ["t"]
    assert (tree(tmp_path / "out"), tree(root / "t.lance")) == before


@WITH_MANIFEST
def test_a_table_can_be_registered_again_where_it_is(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    client.create_table(("t",))

    client.register(("t",), client.place(("t",)) or "", mode="Overwrite", properties={"k": "v"})

    assert client.describe(("t",)).properties == {"k": "v"}


def test_a_manifest_that_is_not_loaded_is_searched_by_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    writer = Client(OURS, tmp_path, **V2_ONLY)
    writer.declare(("o'ne",), location="it's/here")
    manifest_of(writer).mutate(lambda draft: draft.put(Entry("slash", "table", "foreign/place/")))
    manifest_of(writer).mutate(lambda draft: draft.put(Entry("foreign", NAMESPACE, "elsewhere")))
    monkeypatch.setattr(ManifestReader, "_worth_loading", lambda _: False)

    for location in ("it's/here", "it's", "it's/here/in", "foreign/place/in", "foreign"):
        client = Client(OURS, tmp_path, **V2_ONLY)
        assert outcome(lambda client=client, at=location: client.declare(("t",), location=at)) == "InvalidInput"  # type: ignore[misc]
        assert manifest_of(client)._reader.index is None
    assert outcome(lambda: Client(OURS, tmp_path, **V2_ONLY).declare(("t",), location="elsewhere")) == OK


@WITH_MANIFEST
def test_of_concurrent_declares_of_one_location_one_succeeds(tmp_path: Path, properties: Properties):
    clients = [Client(OURS, tmp_path, **properties) for _ in range(4)]
    barrier = Barrier(len(clients))

    def declare(number: int) -> list[str]:
        found = []
        for attempt in range(8):
            location = f"same{attempt}" + "/in" * (number % 2)
            barrier.wait()
            found.append(
                outcome(lambda at=location, name=f"t{number}_{attempt}": clients[number].declare((name,), location=at))  # type: ignore[misc]
            )
        return found

    with ThreadPoolExecutor(len(clients)) as pool:
        outcomes = list(pool.map(declare, range(len(clients))))

    for found in zip(*outcomes, strict=True):
        assert sorted(found) == ["InvalidInput"] * 3 + [OK]


def test_the_first_operation_of_a_batch_counts_for_the_second(tmp_path: Path):
    operations = [
        {"declare_table": {"id": ["one"], "location": "here"}},
        {"declare_table": {"id": ["two"], "location": "here/in"}},
    ]
    with (
        lancespace.connect("dir", {"root": str(tmp_path)}) as namespace,
        pytest.raises(InvalidInputError, match=r"operation 1 .*'one'"),
    ):
        namespace.batch_commit_tables(operations=operations)
    assert rows(tmp_path) == {}


def test_a_new_root_table_keeps_out_of_a_directory_that_was_chosen_for_another(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.declare(("u",), location="t.lance")

    client.create_table(("t",))
    client.drop(("t",))

    assert client.tables() == ["u"]
    assert outcome(lambda: client.create_table(("u",))) == OK
    assert client.tables() == ["u"]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A catalog in which pylance has made two tables of one directory, and one of a directory inside another."""
    theirs = Client(PYLANCE, tmp_path, **V2_ONLY)
    theirs.create_namespace(("a",))
    write_table(tmp_path, "same")
    write_table(tmp_path, "same/inner")
    for names, location in ((("one",), "same"), (("a", "two"), "same"), (("a", "in"), "same/inner")):
        theirs.register(names, location)
    return tmp_path


def enter(client: Client, object_id: str, location: str) -> None:
    """Enter a table that we would refuse, as another implementation or an earlier release may have done."""
    manifest_of(client).mutate(lambda draft: draft.put(Entry(object_id, "table", location)))


def count(client: Client, names: Id) -> int:
    return client.namespace.count_table_rows(CountTableRowsRequest(id=list(names))).count or 0


@pytest.mark.parametrize("dropped", [("one",), ("a", "two"), ("a", "in")], ids=".".join)
@WITH_MANIFEST
def test_dropping_one_of_two_tables_at_a_location_keeps_the_files(
    shared: Path, properties: Properties, dropped: Id, caplog: pytest.LogCaptureFixture
):
    client = Client(OURS, shared, **properties)

    with caplog.at_level(logging.WARNING):
        client.drop(dropped)

    assert "kept its files" in caplog.text
    assert not client.has_table(dropped)
    for names in {("one",), ("a", "two"), ("a", "in")} - {dropped}:
        assert count(client, names) == COUNT


@WITH_MANIFEST
def test_the_last_table_at_a_location_takes_the_files_with_it(shared: Path, properties: Properties):
    client = Client(OURS, shared, **properties)

    client.drop_namespace(("a",), behavior="Cascade")
    assert count(client, ("one",)) == COUNT
    client.drop(("one",))

    assert not (shared / "same").exists()


def test_a_table_with_the_files_of_another_is_not_overwritten(shared: Path):
    client = Client(OURS, shared)

    with pytest.raises(InvalidTableStateError, match=r"'a\.two'|'a\.in'"):
        client.namespace.create_table(CreateTableRequest(id=["one"], mode="Overwrite"), DATA)

    assert count(client, ("a", "two")) == COUNT


def test_a_check_tells_of_shared_locations(shared: Path):
    with lancespace.connect("dir", {"root": str(shared)}) as namespace:
        found = [one for one in checks.check(namespace, older_than=timedelta(0)) if one.kind == checks.SHARED]

    assert {one.subject for one in found} == {"one", "a.in"}
    assert all("'a.two'" in one.detail for one in found)


@pytest.mark.parametrize("location", ["", "..", "../out", "__manifest", "__jobs", "/"])
def test_a_drop_deletes_nothing_beside_the_tables(tmp_path: Path, location: str):
    root = tmp_path / "root"
    client = Client(OURS, root)
    write_table(tmp_path, "out")
    client.create_table(("kept",))
    enter(client, "t", location)

    client.drop(("t",))

    assert client.tables() == ["kept"]
    assert count(client, ("kept",)) == COUNT
    assert (tmp_path / "out" / "_versions").exists()


@pytest.mark.parametrize("target", [("u",), ("a", "u"), ("a", "b", "u")], ids=".".join)
@pytest.mark.parametrize("is_v1", [True, False], ids=["V1", "created"])
@pytest.mark.parametrize("dropper", [COMPATIBILITY, V1_ONLY], ids=["compatibility", "V1"])
def test_the_old_name_of_a_renamed_table_cannot_be_dropped(
    tmp_path: Path, target: Id, dropper: Properties, *, is_v1: bool
):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    client.create_namespace(("a", "b"))
    if is_v1:
        write_table(tmp_path, "t.lance")
    else:
        client.create_table(("t",))
    client.rename(("t",), target)

    assert outcome(lambda: Client(OURS, tmp_path, **dropper).drop(("t",))) == "TableNotFound"
    assert outcome(lambda: Client(OURS, tmp_path, **dropper).drop(("t",))) == "TableNotFound"

    assert count(client, target) == COUNT


def test_the_old_name_of_a_renamed_table_cannot_be_registered_in_v1(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_table(("t",))
    client.rename(("t",), ("u",))

    v1 = Client(OURS, tmp_path, **V1_ONLY)
    assert outcome(lambda: v1.register(("t",), "t.lance")) == "InvalidInput"
    assert v1.tables() == []


def test_a_directory_with_a_row_under_another_name_is_no_table_by_itself(tmp_path: Path):
    write_table(tmp_path, "t.lance")
    client = Client(OURS, tmp_path)
    enter(client, "u", "t.lance")

    assert client.all_tables() == ["u"]
    assert client.tables() == ["u"]
    assert not client.has_table(("t",))
    assert outcome(lambda: client.drop(("t",))) == "TableNotFound"
    assert outcome(lambda: client.create_table(("t",))) == OK
    client.drop(("t",))
    assert count(client, ("u",)) == COUNT


@pytest.mark.parametrize("location", ["t.lance", "t.lance/inner"])
@WITH_MANIFEST
def test_a_v1_table_cannot_be_made_around_a_table_of_the_manifest(
    tmp_path: Path, properties: Properties, location: str
):
    client, v1 = Client(OURS, tmp_path, **properties), Client(OURS, tmp_path, **V1_ONLY)
    client.declare(("u",), location=location)
    v1.create_table(("other",))

    for call in (lambda: v1.create_table(("t",)), lambda: v1.declare(("t",)), lambda: v1.rename(("other",), ("t",))):
        assert outcome(call) == "TableAlreadyExists"
    assert v1.tables() == ["other"]


@pytest.mark.parametrize("location", ["t.lance", "t.lance/inner"])
def test_a_drop_in_v1_keeps_the_files_of_a_table_of_the_manifest(
    tmp_path: Path, location: str, caplog: pytest.LogCaptureFixture
):
    write_table(tmp_path, "t.lance")
    if location != "t.lance":
        write_table(tmp_path, location)
    client, v1 = Client(OURS, tmp_path, **V2_ONLY), Client(OURS, tmp_path, **V1_ONLY)
    client.register(("u",), location)

    with caplog.at_level(logging.WARNING):
        v1.drop(("t",))

    assert "kept its files" in caplog.text
    assert v1.tables() == []
    assert outcome(lambda: v1.drop(("t",))) == "TableNotFound"
    assert count(client, ("u",)) == COUNT


def test_a_v1_table_around_another_table_is_hidden_by_a_drop(tmp_path: Path):
    write_table(tmp_path, "t.lance")
    write_table(tmp_path, "t.lance/inner")
    client = Client(OURS, tmp_path)
    enter(client, "u", "t.lance/inner")

    client.drop(("t",))

    assert client.all_tables() == ["u"]
    assert count(client, ("u",)) == COUNT

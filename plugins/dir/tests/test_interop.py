"""Catalogs that pylance's DirectoryNamespace wrote, read and changed by ours, and the other way round."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from lance_namespace import CountTableRowsRequest, UnsupportedOperationError

from lancespace_dir.manifest.drafts import Draft
from lancespace_dir.manifest.schema import NAMESPACE, Entry
from lancespace_testing.samples import COUNT
from plugins.dir.tests.support import (
    DEREGISTERED,
    MANIFEST,
    OURS,
    PYLANCE,
    RESERVED,
    V2_ONLY,
    Client,
    Id,
    manifest_of,
    manifest_table,
    outcome,
    rows,
    tree,
    write_table,
)

BOTH = pytest.mark.parametrize(("writer", "reader"), [(OURS, PYLANCE), (PYLANCE, OURS)])
READER_FLAGS = "lance.namespace.manifest.reader_feature_flags"
WRITER_FLAGS = "lance.namespace.manifest.writer_feature_flags"
UNKNOWN_BIT = str(1 << 5)


@BOTH
def test_what_one_writes_the_other_reads(writer: str, reader: str, tmp_path: Path):
    one = Client(writer, tmp_path)
    one.create_namespace(("a",), properties={"owner": "me", "Grüße": '"$\\'})
    one.create_namespace(("a", "b"))
    one.create_table(("t",))
    one.create_table(("a", "b", "t"))
    one.declare(("a", "d"))

    other = Client(reader, tmp_path)

    assert other.namespaces() == ["a"]
    assert other.namespaces(("a",)) == ["b"]
    assert other.describe_namespace(("a",)) == {"owner": "me", "Grüße": '"$\\'}
    assert other.describe_namespace(("a", "b")) == {}
    assert other.tables() == ["t"]
    assert other.tables(("a",)) == ["d"]
    for names in (("t",), ("a", "b", "t")):
        assert other.place(names) == one.place(names)
        assert other.namespace.count_table_rows(CountTableRowsRequest(id=list(names))).count == COUNT
    assert other.is_only_declared(("a", "d"))
    assert not other.is_only_declared(("t",))


@BOTH
def test_what_one_declares_the_other_creates_and_drops(writer: str, reader: str, tmp_path: Path):
    one, other = Client(writer, tmp_path), Client(reader, tmp_path)
    one.create_namespace(("a",))

    for names in (("t",), ("a", "t")):
        one.declare(names)
        other.create_table(names)
        assert not one.is_only_declared(names)
        other.drop(names)
        assert not one.has_table(names)

    other.drop_namespace(("a",))
    assert not one.has_namespace(("a",))
    assert rows(tmp_path) == {}
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


@BOTH
def test_a_taken_name_is_taken_for_the_other_too(writer: str, reader: str, tmp_path: Path):
    one, other = Client(writer, tmp_path), Client(reader, tmp_path)
    one.create_namespace(("a",))
    one.create_table(("t",))
    one.create_table(("a", "t"))

    assert outcome(lambda: other.create_namespace(("a",))) == "NamespaceAlreadyExists"
    assert outcome(lambda: other.create_namespace(("t",))) == "NamespaceAlreadyExists"
    assert outcome(lambda: other.drop_namespace(("a",))) == "NamespaceNotEmpty"
    for names in (("a",), ("t",), ("a", "t")):
        assert outcome(lambda names=names: other.declare(names)) == "TableAlreadyExists"  # type: ignore[misc]
    assert outcome(lambda: other.create_table(("a", "t"))) == "TableAlreadyExists"


def test_the_manifest_is_the_table_that_pylance_makes(tmp_path: Path):
    tables = {}
    for who in (OURS, PYLANCE):
        root = tmp_path / who
        root.mkdir()
        client = Client(who, root)
        client.create_namespace(("a",), properties={"k": "v"})
        client.create_table(("t",))
        tables[who] = manifest_table(root)

    ours, pylance = tables[OURS], tables[PYLANCE]
    assert ours.schema.equals(pylance.schema, check_metadata=True)
    assert ours.schema.field("object_id").metadata == {b"lance-schema:unenforced-primary-key:position": b"0"}
    assert ours.data_storage_version == pylance.data_storage_version
    assert ours.metadata == pylance.metadata
    assert ours.config() == pylance.config()
    by_id = [sorted(table.to_table().to_pylist(), key=lambda row: row["object_id"]) for table in (ours, pylance)]
    assert by_id[0] == by_id[1]


@pytest.mark.parametrize("who", [OURS, PYLANCE])
@pytest.mark.parametrize("names", [("t",), ("a", "t")])
def test_a_table_directory_is_laid_out_as_pylance_does(who: str, names: Id, tmp_path: Path):
    client = Client(who, tmp_path)
    client.create_namespace(("a",))
    client.declare(names)

    (place,) = (path for path in tmp_path.iterdir() if path.name != MANIFEST)

    assert [path.name for path in place.iterdir()] == [RESERVED]
    if len(names) == 1:
        assert place.name == "t.lance"
    else:
        prefix, _, object_id = place.name.partition("_")
        assert object_id == "a$t"
        assert len(prefix) == 8
        assert int(prefix, 16) >= 0


def test_pylance_shows_no_table_that_ours_deregistered(tmp_path: Path):
    ours, pylance = Client(OURS, tmp_path), Client(PYLANCE, tmp_path)
    pylance.create_table(("t",))

    ours.deregister(("t",))

    assert not pylance.has_table(("t",))
    assert pylance.tables() == []
    assert (tmp_path / "t.lance" / DEREGISTERED).exists()

    ours.register(("t",), "t.lance")
    assert pylance.has_table(("t",))


def test_ours_shows_what_pylance_deregistered_as_long_as_its_directory_is_in_sight(tmp_path: Path):
    """pylance removes the row and leaves the directory, which is a V1 table then, for both."""
    ours, pylance = Client(OURS, tmp_path), Client(PYLANCE, tmp_path)
    pylance.create_table(("t",))

    pylance.deregister(("t",))

    assert rows(tmp_path) == {}
    assert pylance.has_table(("t",))
    assert ours.has_table(("t",))
    ours.deregister(("t",))
    assert not pylance.has_table(("t",))
    assert not ours.has_table(("t",))


def test_what_pylance_deregistered_of_ours_is_gone_for_ours(tmp_path: Path):
    """Its directory was reserved for a row, and without that row it is no table; pylance only looks there."""
    ours, pylance = Client(OURS, tmp_path), Client(PYLANCE, tmp_path)
    ours.create_table(("t",))

    pylance.deregister(("t",))

    assert pylance.has_table(("t",))
    assert not ours.has_table(("t",))
    assert ours.tables() == []
    ours.register(("t",), "t.lance")
    assert ours.has_table(("t",))


def test_a_table_directory_that_is_copied_to_another_catalog_shows_there(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    ours = Client(OURS, here)
    ours.create_table(("t",))
    Client(OURS, there).create_namespace(("a",))

    shutil.copytree(here / "t.lance", there / "t.lance")

    for who in (OURS, PYLANCE):
        assert Client(who, there).tables() == ["t"]


def test_what_pylance_entered_in_a_namespace_that_is_not_there_can_be_taken_out(tmp_path: Path):
    ours, pylance = Client(OURS, tmp_path), Client(PYLANCE, tmp_path)
    pylance.create_table(("nowhere", "t"))

    assert ours.has_table(("nowhere", "t"))
    assert ours.all_tables() == ["nowhere$t"]
    ours.drop(("nowhere", "t"))

    assert rows(tmp_path) == {}
    assert not pylance.has_table(("nowhere", "t"))


def test_a_row_whose_directory_is_gone_is_a_declared_table(tmp_path: Path):
    """pylance registers locations where nothing is."""
    ours = Client(OURS, tmp_path)
    Client(PYLANCE, tmp_path).register(("t",), "gone")

    assert ours.is_only_declared(("t",))
    ours.create_table(("t",))
    assert ours.place(("t",)) == "gone"
    ours.drop(("t",))
    assert rows(tmp_path) == {}


def test_pylance_sees_renamed_tables_in_child_namespaces(tmp_path: Path):
    ours, pylance = Client(OURS, tmp_path), Client(PYLANCE, tmp_path)
    pylance.create_namespace(("a",))
    pylance.create_table(("t",))

    ours.rename(("t",), ("a", "u"))

    assert pylance.place(("a", "u")) == "t.lance"
    assert pylance.tables() == []
    ours.rename(("a", "u"), ("t",))
    assert pylance.tables() == ["t"]
    assert pylance.tables(("a",)) == []


def test_pylance_sees_renamed_root_tables_where_it_looks_into_the_manifest(tmp_path: Path):
    ours, pylance = Client(OURS, tmp_path), Client(PYLANCE, tmp_path, **V2_ONLY)
    write_table(tmp_path, "t.lance")

    ours.rename(("t",), ("u",))

    assert pylance.tables() == ["u"]
    assert pylance.place(("u",)) == "t.lance"


def test_root_properties_are_those_of_the_manifest_table(tmp_path: Path):
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    assert ours.describe_namespace(()) == {}

    manifest_table(tmp_path).update_metadata({"owner": "me", READER_FLAGS: "0"})

    assert ours.describe_namespace(()) == {"owner": "me"}
    assert Client(OURS, tmp_path).describe_namespace(()) == {"owner": "me"}


def test_metadata_of_the_manifest_table_outlives_our_commits(tmp_path: Path):
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    manifest_table(tmp_path).update_metadata({"owner": "me", READER_FLAGS: "0", WRITER_FLAGS: "0"})

    ours.create_namespace(("b",))
    for names in (("a",), ("b",)):
        ours.drop_namespace(names)
    assert manifest_table(tmp_path).count_rows() == 0
    ours.create_namespace(("c",))

    assert manifest_table(tmp_path).metadata == {"owner": "me", READER_FLAGS: "0", WRITER_FLAGS: "0"}
    assert manifest_table(tmp_path).schema.field("object_id").metadata


@pytest.mark.parametrize("is_connected_before", [True, False])
def test_an_unknown_reader_flag_refuses_everything(tmp_path: Path, *, is_connected_before: bool):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    manifest_table(tmp_path).update_metadata({READER_FLAGS: UNKNOWN_BIT})
    if not is_connected_before:
        client = Client(OURS, tmp_path)

    for call in (
        client.namespaces,
        lambda: client.describe_namespace(("a",)),
        lambda: client.describe(("t",)),
        client.tables,
        lambda: client.create_namespace(("b",)),
        lambda: client.create_table(("t",)),
    ):
        with pytest.raises(UnsupportedOperationError, match=r"upgrade lancespace \(unknown feature flags 0x20"):
            call()
    assert rows(tmp_path).keys() == {"a"}


@pytest.mark.parametrize("is_connected_before", [True, False])
def test_an_unknown_writer_flag_refuses_writes_alone(tmp_path: Path, *, is_connected_before: bool):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    client.create_table(("a", "t"))
    manifest_table(tmp_path).update_metadata({WRITER_FLAGS: UNKNOWN_BIT})
    if not is_connected_before:
        client = Client(OURS, tmp_path)
    before = tree(tmp_path)

    assert client.namespaces() == ["a"]
    assert client.has_table(("a", "t"))
    changes: list[Callable[[], object]] = [
        lambda: client.create_namespace(("b",)),
        lambda: client.drop_namespace(("a",), behavior="Cascade"),
        lambda: client.declare(("t",)),
        lambda: client.drop(("a", "t")),
        lambda: client.rename(("a", "t"), ("t",)),
    ]
    for call in changes:
        with pytest.raises(UnsupportedOperationError, match=r"upgrade lancespace \(unknown feature flags 0x20"):
            call()
    assert before.keys() - tree(tmp_path).keys() == set()
    assert rows(tmp_path).keys() == {"a", "a$t"}


@pytest.mark.parametrize("is_connected_before", [True, False])
@pytest.mark.parametrize("count", [3, 600])
def test_columns_that_only_others_know_are_kept(tmp_path: Path, count: int, *, is_connected_before: bool):
    """With 600 rows there are sealed fragments beside the one that every commit rewrites."""
    client = Client(OURS, tmp_path)
    _create_namespaces(client, count)
    client.create_table(("n0", "t"))
    client.tables()
    manifest_table(tmp_path).add_columns({"team": "concat('team of ', object_id)"})
    if not is_connected_before:
        client = Client(OURS, tmp_path)

    client.create_namespace(("n1",), mode="Overwrite", properties={"k": "v"})
    client.rename(("n0", "t"), ("t",))
    client.drop_namespace(("n2",))
    client.create_namespace(("new",))

    found = rows(tmp_path)
    assert found.pop("new")["team"] is None
    assert found.pop("t")["team"] == "team of n0$t"
    assert {object_id: row["team"] for object_id, row in found.items()} == {
        f"n{number}": f"team of n{number}" for number in range(count) if number != 2
    }
    assert found["n1"]["metadata"] == '{"k":"v"}'
    assert Client(OURS, tmp_path).describe_namespace(("n1",)) == {"k": "v"}


def test_a_column_that_is_gone_again_is_no_obstacle(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    manifest_table(tmp_path).add_columns({"team": "concat('team of ', object_id)"})
    client.create_namespace(("b",))
    manifest_table(tmp_path).drop_columns(["team"])

    client.create_namespace(("c",))

    assert rows(tmp_path).keys() == {"a", "b", "c"}
    assert "team" not in manifest_table(tmp_path).schema.names


def test_a_column_that_others_replaced_keeps_its_new_values(tmp_path: Path):
    """The schema is the same before and after, and so are the fragments; only one of their files is another."""
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    manifest_table(tmp_path).add_columns({"team": "concat('old ', object_id)"})
    assert client.namespaces() == ["a"]
    manifest_table(tmp_path).drop_columns(["team"])
    manifest_table(tmp_path).add_columns({"team": "concat('new ', object_id)"})

    client.create_namespace(("b",))

    assert {object_id: row["team"] for object_id, row in rows(tmp_path).items()} == {"a": "new a", "b": None}


def test_rows_that_others_updated_in_place_are_read_again(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",), properties={"k": "old"})
    assert client.describe_namespace(("a",)) == {"k": "old"}

    lance.dataset(str(tmp_path / MANIFEST)).update({"metadata": """'{"k":"new"}'"""}, where="object_id = 'a'")

    assert client.describe_namespace(("a",)) == {"k": "new"}
    assert client.namespaces() == ["a"]


def _create_namespaces(client: Client, count: int) -> None:
    """Enter namespaces in batches that fill and seal fragments, as many commits would."""
    for start in range(0, count, 200):
        entries = [Entry(f"n{number}", NAMESPACE) for number in range(start, min(start + 200, count))]

        def enter(draft: Draft, entries: list[Entry] = entries) -> None:
            for entry in entries:
                draft.put(entry)

        manifest_of(client).mutate(enter)

"""V1, V2 and compatibility mode: tables that are renamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.dir.tests.modes import directories
from plugins.dir.tests.support import MODES, OURS, V1_ONLY, V2_ONLY, Client, Id, outcome, tree, write_table


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

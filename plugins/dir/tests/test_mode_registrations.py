"""V1, V2 and compatibility mode: tables that are deregistered, and registered again."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.dir.tests.modes import EVERY_MODE, WITH_LISTING, WITH_MANIFEST, Properties, directories, is_hashed
from plugins.dir.tests.support import COMPATIBILITY, DEREGISTERED, OK, OURS, V1_ONLY, Client, outcome, rows, write_table


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
        client.deregister(("a", name))


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

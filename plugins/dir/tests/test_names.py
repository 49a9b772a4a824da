"""Names and locations that look like the catalog's own files."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import lancespace
from lancespace.authoring import STAGED_PREFIX, is_staged
from lancespace_dir import checks
from plugins.dir.tests.modes import EVERY_MODE, WITH_MANIFEST, Properties
from plugins.dir.tests.pausing import Pauses, pauses
from plugins.dir.tests.support import (
    COMPATIBILITY,
    DEREGISTERED,
    OURS,
    RESERVED,
    V1_ONLY,
    V2_ONLY,
    Client,
    outcome,
    tree,
    write_table,
)

__all__ = ["pauses"]

NAMES = (
    ".put-abc",
    f".put-{'0' * 32}",
    ".put-",
    RESERVED,
    DEREGISTERED,
    "__manifest",
    "__manifestation",
    "__jobs",
    "_versions",
    "_lancespace_jobs",
    "0123abcd_t",
    "x.lance",
    ".lance",
)


@pytest.mark.parametrize("name", NAMES)
@EVERY_MODE
def test_a_table_of_any_name_is_created_listed_and_dropped(tmp_path: Path, properties: Properties, name: str):
    client = Client(OURS, tmp_path, **properties)
    client.create_table((name,))

    assert client.tables() == [name]
    assert client.has_table((name,))
    place = client.place((name,)) or ""
    with lancespace.connect("dir", {"root": str(tmp_path), **properties}) as namespace:
        assert list(checks.check(namespace, older_than=timedelta(0))) == []
    client.deregister((name,))
    client.register((name,), place)
    assert client.tables() == [name]
    client.drop((name,))
    assert client.tables() == []
    assert not (tmp_path / place).exists()


@pytest.mark.parametrize("location", [".put-abc", "deep/.put-abc", f"x/{DEREGISTERED}", f"{RESERVED}/x", "__jobs/x"])
@WITH_MANIFEST
def test_a_location_that_is_called_as_our_own_files_is_refused(tmp_path: Path, properties: Properties, location: str):
    write_table(tmp_path, location)
    client = Client(OURS, tmp_path, **properties)
    before = tree(tmp_path)

    assert outcome(lambda: client.declare(("t",), location=location)) == "InvalidInput"
    assert outcome(lambda: client.register(("t",), location)) == "InvalidInput"
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["x.lance", "x.lance.lance", ".lance", f"{'n' * 240}.lance", f"{'n' * 240}.lance.lance"]
)
def test_a_table_whose_name_ends_as_a_v1_directory_has_one_name_in_all_modes(tmp_path: Path, name: str):
    client = Client(OURS, tmp_path, **V2_ONLY)
    client.create_table((name,))
    readers = [Client(OURS, tmp_path, **properties) for properties in (COMPATIBILITY, V1_ONLY)]

    assert [reader.tables() for reader in readers] == [[name], []]
    client.deregister((name,))
    assert [reader.tables() for reader in readers] == [[], []]


def test_what_a_drop_moves_out_of_the_way_is_no_table(tmp_path: Path, pauses: Pauses):
    client, other = (Client(OURS, tmp_path, **V1_ONLY) for _ in range(2))
    seen = set()
    for moment in pauses.moments():
        client.create_table(("x.lance",))
        with pauses.at(moment, lambda: seen.update(other.tables())):
            client.drop(("x.lance",))
    assert seen == {"x.lance"}


@WITH_MANIFEST
def test_a_name_that_no_v1_directory_can_have_is_free_for_all_else(tmp_path: Path, properties: Properties):
    client = Client(OURS, tmp_path, **properties)
    for number, call in enumerate((client.create_table, client.declare, client.create_namespace)):
        call(("n" * 254 + str(number),))
    client.rename(("n" * 254 + "0",), ("n" * 255,))
    client.drop(("n" * 255,))
    assert client.tables() == ["n" * 254 + "1"]


def test_no_table_directory_is_taken_for_a_staged_one():
    assert is_staged(f"{STAGED_PREFIX}0123abcd")
    assert not any(is_staged(f"{name}.lance") for name in NAMES)

"""V1, V2 and compatibility mode: which tables show."""

from __future__ import annotations

from pathlib import Path

import pytest

from lancespace_dir.listing import Listing
from plugins.dir.tests.modes import EVERY_MODE, WITH_LISTING, Properties, is_hashed
from plugins.dir.tests.support import OURS, V1_ONLY, V2_ONLY, Client, write_table


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


def test_a_page_looks_into_no_directory_that_it_need_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Those of the manifest's tables are known, and those of other pages can wait: a root may have very many."""
    client = Client(OURS, tmp_path)
    for number in range(8):
        client.create_table((f"row{number}",))
        write_table(tmp_path, f"row{number}v1.lance")
    looked: list[str] = []
    exists = Listing.exists

    def watched(listing: Listing, name: str) -> bool:
        looked.append(name)
        return exists(listing, name)

    monkeypatch.setattr(Listing, "exists", watched)

    first = client.list_tables(limit=4)
    second = client.list_tables(limit=4, page_token=first.page_token)

    assert first.tables + second.tables == [f"row{number}{kind}" for number in range(4) for kind in ("", "v1")]
    assert len(looked) <= 6
    assert all(name.endswith("v1") for name in looked)


def test_a_namespace_does_not_hide_a_table_directory_of_its_name(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_namespace(("same",))
    write_table(tmp_path, "same.lance")

    assert client.tables() == ["same"]


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

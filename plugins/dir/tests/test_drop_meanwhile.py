"""A table that is created anew while somebody drops it: its directory is not emptied under its writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lancespace import connect
from lancespace.testing.samples import sample
from lancespace_dir.catalogs import Place
from lancespace_dir.listing import Listing
from lancespace_dir.v2 import ManifestCatalog


def test_the_directory_of_a_new_table_is_withdrawn_before_it_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    deleted: list[str] = []
    delete = Listing.delete

    def note(self: Listing, location: str) -> None:
        deleted.append(location)
        delete(self, location)

    def find_older(*_: Any) -> tuple[Place, bool]:
        return Place("0badcafe_t"), True

    with connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.create_table("t", sample())
        assert (tmp_path / "t.lance").is_dir()
        with monkeypatch.context() as patch:
            patch.setattr(ManifestCatalog, "find_row", find_older)
            patch.setattr(Listing, "delete", note)
            namespace.drop_table("t")

        assert len(deleted) == 1
        assert deleted != ["t.lance"]
        assert not (tmp_path / "t.lance").exists()
        assert namespace.list_tables([]).tables == []

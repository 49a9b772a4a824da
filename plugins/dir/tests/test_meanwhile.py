"""Creating and dropping one table at the same time, in orders that a race meets once in a hundred times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lance_namespace import ConcurrentModificationError, TableNotFoundError

from lancespace import Namespace, connect
from lancespace_dir.catalogs import CatalogEntry
from lancespace_dir.manifest_catalog import ManifestCatalog
from lancespace_tables import TableLocation, VersionClient
from lancespace_tables import _creation as creation
from lancespace_testing.samples import COUNT, sample
from plugins.dir.tests import managing
from plugins.dir.tests.support import V2_ONLY


def test_a_drop_that_found_an_older_table_spares_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def find_older(*_: Any) -> tuple[CatalogEntry, bool]:
        return CatalogEntry("0badcafe_t"), True

    with connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.create_table("t", sample())
        with monkeypatch.context() as patch:
            patch.setattr(ManifestCatalog, "find_row", find_older)
            with pytest.raises(TableNotFoundError):
                namespace.drop_table("t")

        assert namespace.count_table_rows("t").count == COUNT


def test_a_creator_loses_to_one_whose_table_was_dropped_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_files, exists = creation._write_files, TableLocation.exists

    with connect("dir", {"root": str(tmp_path)}) as namespace, connect("dir", {"root": str(tmp_path)}) as rival:

        def write_beside_the_rival(*arguments: Any) -> Any:
            monkeypatch.setattr(creation, "_write_files", write_files)
            written = write_files(*arguments)
            rival.create_table("t", sample())
            monkeypatch.setattr(TableLocation, "exists", look_after_the_drop)
            return written

        def look_after_the_drop(ref: TableLocation) -> bool:
            monkeypatch.setattr(TableLocation, "exists", exists)
            rival.drop_table("t")
            return ref.exists()

        monkeypatch.setattr(creation, "_write_files", write_beside_the_rival)
        with pytest.raises(ConcurrentModificationError, match="create it again"):
            namespace.create_table("t", sample())

        assert namespace.list_tables([]).tables == []
        namespace.create_table("t", sample())
        assert namespace.count_table_rows("t").count == COUNT


def drop_after_the_versions_are_listed(rival: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a table dropped by somebody else right after Lance was told where its latest version is."""
    list_versions = VersionClient.list_table_versions

    def list_and_drop(self: VersionClient, request: Any) -> Any:
        monkeypatch.setattr(VersionClient, "list_table_versions", list_versions)
        answer = list_versions(self, request)
        rival.drop_table("t")
        return answer

    monkeypatch.setattr(VersionClient, "list_table_versions", list_and_drop)


def test_a_table_that_is_dropped_before_its_latest_version_is_read_was_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with managing.connect(tmp_path, **V2_ONLY) as namespace, managing.connect(tmp_path, **V2_ONLY) as rival:
        rival.create_table("t", sample())
        drop_after_the_versions_are_listed(rival, monkeypatch)
        with pytest.raises(ConcurrentModificationError, match="create it again"):
            namespace.create_table("t", sample())

        assert namespace.list_tables([]).tables == []
        rival.create_table("t", sample())
        drop_after_the_versions_are_listed(rival, monkeypatch)
        with pytest.raises(TableNotFoundError):
            namespace.count_table_rows("t")


def test_a_creator_who_cannot_tell_who_won_is_told_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    create_version = VersionClient.create_table_version

    with managing.connect(tmp_path, **V2_ONLY) as namespace, managing.connect(tmp_path, **V2_ONLY) as rival:

        def commit_after_the_rival(self: VersionClient, request: Any) -> Any:
            monkeypatch.setattr(VersionClient, "create_table_version", create_version)
            rival.create_table("t", sample())
            try:
                return create_version(self, request)
            finally:
                rival.drop_table("t")
                rival.declare_table("t")

        monkeypatch.setattr(VersionClient, "create_table_version", commit_after_the_rival)
        with pytest.raises(ConcurrentModificationError, match="reported a conflict"):
            namespace.create_table("t", sample())

        namespace.create_table("t", sample())
        assert namespace.count_table_rows("t").count == COUNT


@pytest.mark.parametrize("act", ["insert_into_table", "merge_insert_into_table"])
@pytest.mark.parametrize("mode", [V2_ONLY, {}, managing.MANAGED], ids=["V2", "compatibility", "managed"])
def test_rows_for_a_declared_table_that_is_dropped_do_not_bring_it_back(
    mode: dict[str, str], act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    latest, properties = TableLocation.latest, {"root": str(tmp_path), **mode}

    with connect("dir", properties) as namespace, connect("dir", properties) as rival:

        def look_after_the_drop(ref: TableLocation, branch: str | None = None) -> Any:
            monkeypatch.setattr(TableLocation, "latest", latest)
            rival.drop_table("t")
            return ref.latest(branch)

        rival.declare_table("t")
        monkeypatch.setattr(TableLocation, "latest", look_after_the_drop)
        with pytest.raises(TableNotFoundError):
            getattr(namespace, act)("t", sample(), **({"on": ["id"]} if act.startswith("merge") else {}))

        assert namespace.list_tables([]).tables == []


def test_a_table_that_is_dropped_while_it_is_opened_was_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    open_ref = TableLocation.open

    with connect("dir", {"root": str(tmp_path)}) as namespace, connect("dir", {"root": str(tmp_path)}) as rival:

        def open_after_the_drop(ref: TableLocation, *arguments: Any) -> Any:
            monkeypatch.setattr(TableLocation, "open", open_ref)
            rival.drop_table("t")
            return ref.open(*arguments)

        rival.create_table("t", sample())
        monkeypatch.setattr(TableLocation, "open", open_after_the_drop)
        with pytest.raises(TableNotFoundError):
            namespace.count_table_rows("t")

"""V1 catalogs become V2 catalogs, in one go or after an interruption."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance_namespace import UnsupportedOperationError

import lancespace
from lancespace_dir import migrate, migration
from plugins.dir.tests.support import rows


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    """A directory with five V1 tables, one of them deregistered."""
    for number in range(5):
        lance.write_dataset(pa.table({"id": [number]}), str(tmp_path / f"t{number}.lance"))
    (tmp_path / "t4.lance" / ".lance-deregistered").touch()
    return tmp_path


def tables(root: Path, **properties: str) -> list[str]:
    return list(lancespace.connect("dir", {"root": str(root), **properties}).tables())


def test_dry_run_tells_and_changes_nothing(v1: Path):
    done = migrate(lancespace.connect("dir", {"root": str(v1)}), dry_run=True)

    assert done.registered == ("t0", "t1", "t2", "t3")
    assert done.is_dry_run
    assert not (v1 / "__manifest").exists()


def test_all_tables_are_in_the_manifest_afterwards(v1: Path):
    told: list[tuple[int, int]] = []
    namespace = lancespace.connect("dir", {"root": str(v1)})
    before = tables(v1)

    done = migrate(namespace, progress=lambda number, of: told.append((number, of)))

    assert done.registered == ("t0", "t1", "t2", "t3")
    assert told == [(4, 4)]
    assert tables(v1) == tables(v1, dir_listing_enabled="false") == before
    assert namespace.table("t1").to_arrow().to_pylist() == [{"id": 1}]
    assert migrate(namespace).registered == ()


def test_interrupted_migration_is_finished_by_another(v1: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(migration, "_BATCH", 2)

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(lancespace.connect("dir", {"root": str(v1)}), progress=interrupt)
    assert len(rows(v1)) == 2

    assert migrate(lancespace.connect("dir", {"root": str(v1)})).registered == ("t2", "t3")
    assert tables(v1, dir_listing_enabled="false") == ["t0", "t1", "t2", "t3"]


@pytest.mark.parametrize("properties", [{"manifest_enabled": "false"}, {"dir_listing_enabled": "false"}])
def test_other_modes_have_nothing_to_migrate(v1: Path, properties: dict[str, str]):
    with pytest.raises(UnsupportedOperationError, match="connect to 'dir' with manifest_enabled=true and"):
        migrate(lancespace.connect("dir", {"root": str(v1), **properties}))
    with pytest.raises(UnsupportedOperationError):
        migrate(lancespace.connect("memory"))

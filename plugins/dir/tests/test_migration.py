"""V1 catalogs become V2 catalogs, in one go or after an interruption."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import UnsupportedOperationError

import lancespace
from lancespace.engines import JobState
from lancespace.jobs import JobFailedError
from lancespace.testing.waiting import until
from lancespace_dir import migrate, migration, unmigrated
from plugins.dir.tests.support import rows

V1 = ["t0", "t1", "t2", "t3"]


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    """A directory with five V1 tables, one of them deregistered."""
    for number in range(5):
        lance.write_dataset(pa.table({"id": [number]}), str(tmp_path / f"t{number}.lance"))
    (tmp_path / "t4.lance" / ".lance-deregistered").touch()
    return tmp_path


def tables(root: Path, **properties: str) -> list[str]:
    return list(lancespace.connect("dir", {"root": str(root), **properties}).tables())


def test_what_would_be_entered_is_told_and_nothing_changed(v1: Path):
    assert unmigrated(lancespace.connect("dir", {"root": str(v1)})) == V1
    assert not (v1 / "__manifest").exists()


def test_all_tables_are_in_the_manifest_afterwards(v1: Path):
    before = tables(v1)
    with lancespace.connect("dir", {"root": str(v1)}) as namespace:
        job = migrate(namespace)
        done = job.wait()

        assert (done.kind, done.rows, done.fraction) == ("migrate", 4, 1.0)
        assert namespace.describe_transaction(job.id).status == "SUCCEEDED"
        assert tables(v1) == tables(v1, dir_listing_enabled="false") == before == V1
        assert namespace.table("t1").to_arrow().to_pylist() == [{"id": 1}]
        assert unmigrated(namespace) == []
        assert migrate(namespace).wait().rows == 0


def entering(monkeypatch: pytest.MonkeyPatch, reached: threading.Event, go_on: threading.Event) -> list[Any]:
    """Batches of two tables, which are told as they are begun; the second waits."""
    real = migration.enter
    begun: list[Any] = []

    def enter(batch: Any) -> int:
        begun.append(batch.names)
        if len(begun) == 2:
            reached.set()
            assert go_on.wait(60)
        return real(batch)

    monkeypatch.setattr(migration, "_BATCH", 2)
    monkeypatch.setattr(migration, "enter", enter)
    return begun


def test_a_migration_is_followed_cancelled_and_finished_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(6):
        lance.write_dataset(pa.table({"id": [number]}), str(tmp_path / f"t{number}.lance"))
    reached, go_on = threading.Event(), threading.Event()
    begun = entering(monkeypatch, reached, go_on)
    with lancespace.connect("dir", {"root": str(tmp_path)}) as namespace:
        job = migrate(namespace)
        assert reached.wait(60)
        seen = until(job.status, lambda status: status.fraction > 0)
        assert (seen.rows, seen.message) == (2, "entering 6 tables in the manifest")
        job.cancel()
        go_on.set()
        with pytest.raises(JobFailedError, match="cancelled"):
            job.wait()
        assert job.status().state is JobState.CANCELED
        assert (len(begun), len(rows(tmp_path))) == (2, 4)

        assert migrate(namespace).wait().rows == 2
    assert begun[2:] == [("t4", "t5")]
    assert tables(tmp_path, dir_listing_enabled="false") == [f"t{number}" for number in range(6)]


def test_a_table_that_somebody_has_entered_meanwhile_stays_as_it_is(v1: Path, monkeypatch: pytest.MonkeyPatch):
    real = migration.enter

    def late(batch: Any) -> int:
        with lancespace.connect("dir", {"root": str(v1)}) as other:
            real(migration._Batch(*other.recipe(), ("t1",)))
        return real(batch)

    monkeypatch.setattr(migration, "enter", late)
    with lancespace.connect("dir", {"root": str(v1)}) as namespace:
        assert migrate(namespace).wait().rows == 3
    assert sorted(rows(v1)) == V1


@pytest.mark.parametrize("properties", [{"manifest_enabled": "false"}, {"dir_listing_enabled": "false"}])
def test_other_modes_have_nothing_to_migrate(v1: Path, properties: dict[str, str]):
    with pytest.raises(UnsupportedOperationError, match="connect to 'dir' with manifest_enabled=true and"):
        migrate(lancespace.connect("dir", {"root": str(v1), **properties}))
    with pytest.raises(UnsupportedOperationError):
        migrate(lancespace.connect("memory"))
    with pytest.raises(UnsupportedOperationError):
        unmigrated(lancespace.connect("memory"))

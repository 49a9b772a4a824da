"""What one caller deletes, while another one needs it: the page on deletions names these tests."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance_namespace import ConcurrentModificationError, NamespaceNotFoundError

import lancespace_jobs as jobs
from lancespace import Namespace, connect
from lancespace._storage import probes
from lancespace_dir import mutations, reservations
from lancespace_jobs import FOLDER, JobFailedError, Stage, TableSpec
from lancespace_jobs import _stages as reserving
from lancespace_tables import _creation as creation
from plugins.dir.tests.test_repairs import age, once

ROWS = [{"id": 1}]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.fixture
def ns(tmp_path: Path) -> Namespace:
    namespace = connect("dir", {"root": str(tmp_path)})
    namespace.create_namespace("sales")
    return namespace


@pytest.fixture
def other(tmp_path: Path) -> Namespace:
    """The connection of another process."""
    return connect("dir", {"root": str(tmp_path)})


def test_a_cascade_beside_a_create(ns: Namespace, other: Namespace, monkeypatch: pytest.MonkeyPatch):
    with (
        once(monkeypatch, creation, "_write_files", lambda: other.drop_namespace("sales", behavior="Cascade")),
        pytest.raises((ConcurrentModificationError, NamespaceNotFoundError)),
    ):
        ns.create_table("sales.orders", ROWS)

    ns.create_namespace("sales")
    ns.create_table("sales.orders", ROWS)
    assert ns.table("sales.orders").count() == 1


def test_an_overwrite_beside_a_reader(ns: Namespace, other: Namespace):
    ns.create_table("sales.orders", ROWS)
    reader = ns.table("sales.orders").dataset()

    other.create_table("sales.orders", [{"id": 2}, {"id": 3}], mode="overwrite")

    assert reader.to_table().to_pylist() == ROWS
    assert ns.table("sales.orders").count() == 2


@pytest.mark.parametrize("mode", ["true", "false"], ids=["manifest", "V1"])
def test_a_declaration_is_taken_back_beside_a_writer(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch):
    ns = connect("dir", {"root": str(tmp_path), "manifest_enabled": mode})
    handle = TableSpec.of(ns, "soon")
    assert reserving.declare(handle)

    def write() -> None:
        lance.write_dataset(TABLE, tmp_path / "soon.lance")

    owner, name = (mutations, "take_out_table") if mode == "true" else (reservations, "delete_marks")
    with once(monkeypatch, owner, name, write):
        reserving.take_back(handle)

    assert ns.table("soon").count() == 1


def test_a_clean_up_beside_a_writer_that_is_about_to_commit(ns: Namespace, other: Namespace):
    ns.create_table("sales.orders", ROWS)
    stage = Stage(TableSpec.of(ns, "sales.orders"), "import", "append")
    stage.prepare()
    written = stage.write(TABLE.to_batches(), TABLE.schema)

    jobs.clean_up(other, "sales.orders", older_than=timedelta(0)).wait()
    fragments = stage.publish([written])
    jobs.clean_up(other, "sales.orders", older_than=timedelta(0)).wait()
    stage.commit(TABLE.schema, fragments, None)

    assert ns.table("sales.orders").count() == 2


def test_a_clean_up_by_a_clock_that_is_wrong_deletes_nothing(
    ns: Namespace, other: Namespace, monkeypatch: pytest.MonkeyPatch
):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Ahead:
            return super().now(tz) + timedelta(days=30)

    ns.create_table("sales.orders", ROWS)
    ns.insert_into_table("sales.orders", ROWS)
    location = Path(str(ns.describe_table("sales.orders").location))
    (location / FOLDER / "running").mkdir(parents=True)
    monkeypatch.setattr(probes, "datetime", Ahead)

    with pytest.raises(JobFailedError, match="clock of this machine is 30 days"):
        jobs.clean_up(other, "sales.orders", older_than=timedelta(0)).wait()

    assert len(ns.list_table_versions("sales.orders").versions) == 2
    monkeypatch.undo()
    age(location / FOLDER)
    jobs.clean_up(other, "sales.orders", older_than=timedelta(0)).wait()
    assert len(ns.list_table_versions("sales.orders").versions) == 1

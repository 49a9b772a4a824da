"""What is wrong in a catalog is found, and mended without harm to what is right."""

from __future__ import annotations

import json
import os
import shutil
import time
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance_namespace import UnsupportedOperationError

from lancespace import Namespace, connect
from lancespace_dir import checks, repairs
from lancespace_dir.checks import check
from lancespace_dir.look import all_rows
from lancespace_dir.manifest.schema import SCHEMA, TABLE, TABLE_VERSION, Entry, to_table
from lancespace_jobs import FOLDER

WEEK = timedelta(days=7)
ROWS = [{"id": 1}]


@pytest.fixture
def ns(tmp_path: Path) -> Namespace:
    """A catalog in which everything is right, with all that may look odd."""
    namespace = connect("dir", {"root": str(tmp_path)})
    namespace.create_namespace("sales")
    for name in ("sales.orders", "plain", "gone"):
        namespace.create_table(name, ROWS)
    namespace.deregister_table("gone")
    namespace.declare_table("sales.soon")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "readme.txt").write_text("somebody's own")
    lance.write_dataset(pa.Table.from_pylist(ROWS), tmp_path / "v1.lance")
    return namespace


def found(namespace: Namespace) -> list[tuple[str, str]]:
    return [(one.kind, one.subject) for one in check(namespace, older_than=WEEK)]


def mended(namespace: Namespace, *, orphans: bool = False) -> dict[str, str]:
    findings = [one for one in check(namespace, older_than=WEEK) if repairs.plan_repair(one, orphans=orphans)]
    return {one.subject: outcome for one, outcome in repairs.repair(namespace, findings, older_than=WEEK)}


def location(namespace: Namespace, name: str) -> Path:
    return Path(namespace.describe_table(name).location or "")


def age(path: Path) -> None:
    """Let everything at a path be older than a week."""
    long_ago = time.time() - 30 * 24 * 3600
    for one in [path, *path.rglob("*")]:
        os.utime(one, (long_ago, long_ago))


def enter(root: Path, *entries: Entry) -> None:
    """Write rows past all that keeps the manifest in order."""
    lance.write_dataset(to_table(entries, SCHEMA), root / "__manifest", mode="append")


def test_nothing_is_found_where_all_is_right(ns: Namespace, tmp_path: Path):
    age(tmp_path / "docs")

    assert found(ns) == []
    with pytest.raises(UnsupportedOperationError, match="connect with manifest_enabled=true"):
        found(connect("dir", {"root": str(tmp_path), "manifest_enabled": "false"}))
    with pytest.raises(UnsupportedOperationError, match="no directory catalog"):
        list(check(connect("memory", {}), older_than=WEEK))


def test_a_catalog_without_a_manifest(tmp_path: Path):
    namespace = connect("dir", {"root": str(tmp_path), "manifest_enabled": "false"})
    namespace.create_table("orders", ROWS)
    for name in ("soon", "stale"):
        namespace.declare_table(name)
    age(tmp_path / "stale.lance")

    assert found(namespace) == [(checks.STALE_RESERVATION, "stale.lance")]
    assert mended(namespace) == {"stale.lance": repairs.DONE}
    assert list(namespace.tables()) == ["orders", "soon"]


def test_a_table_whose_data_is_gone(ns: Namespace, tmp_path: Path):
    shutil.rmtree(location(ns, "sales.orders"))
    assert found(ns) == [], "it may be being created"
    age(tmp_path / "__manifest")

    assert found(ns) == [(checks.MISSING_LOCATION, "sales.orders")]
    assert mended(ns) == {"sales.orders": repairs.DONE}
    assert found(ns) == []
    assert list(ns.tables("sales")) == ["soon"]


@pytest.mark.parametrize("left", [None, (), ("latest_version_hint.json",)])
def test_a_table_that_lost_its_versions_is_for_a_person(ns: Namespace, tmp_path: Path, left: tuple[str, ...] | None):
    for place in (location(ns, "sales.orders"), tmp_path / "v1.lance"):
        shutil.rmtree(place / "_versions")
        if left is not None:
            (place / "_versions").mkdir()
            for name in left:
                (place / "_versions" / name).write_text("{}")
        age(place)

    assert found(ns) == [(checks.NO_VERSION, "sales.orders"), (checks.NO_VERSION, "v1.lance")]
    assert "drop the table" in next(check(ns, older_than=WEEK)).detail
    assert mended(ns, orphans=True) == {}
    assert (location(ns, "sales.orders") / "data").exists()
    for name in ("sales.orders", "v1"):
        ns.drop_table(name)
    assert found(ns) == []


def test_a_table_whose_first_version_is_being_written(ns: Namespace):
    place = location(ns, "sales.soon")
    (place / "data").mkdir()
    (place / "data" / "x.lance").write_bytes(b"x")

    assert found(ns) == []
    age(place)
    assert found(ns) == [(checks.NO_VERSION, "sales.soon")]


def test_a_reservation_that_nobody_came_back_to(ns: Namespace):
    age(location(ns, "sales.soon"))

    assert found(ns) == [(checks.STALE_RESERVATION, "sales.soon")]
    assert mended(ns) == {"sales.soon": repairs.DONE}
    assert not ns.table("sales.soon").exists()
    assert ns.table("sales.orders").count() == 1


def test_a_reservation_that_became_a_table_meanwhile_is_left_alone(ns: Namespace):
    age(location(ns, "sales.soon"))
    findings = list(check(ns, older_than=WEEK))
    ns.create_table("sales.soon", ROWS)

    assert [outcome for _, outcome in repairs.repair(ns, findings, older_than=WEEK)] == [repairs.GONE]
    assert ns.table("sales.soon").count() == 1


def test_an_orphan_that_is_a_whole_table_is_only_deleted_if_that_is_meant(ns: Namespace, tmp_path: Path):
    place = location(ns, "sales.orders")
    ns.deregister_table("sales.orders")

    assert found(ns) == [(checks.ORPHAN_TABLE, place.name)]
    assert mended(ns) == {}
    assert place.exists()
    age(place)
    assert mended(ns, orphans=True) == {place.name: repairs.DONE}
    assert not place.exists()
    assert (tmp_path / "v1.lance").exists()
    assert (tmp_path / "gone.lance").exists()


def test_an_orphan_that_was_registered_meanwhile_is_left_alone(ns: Namespace):
    place = location(ns, "sales.orders")
    ns.deregister_table("sales.orders")
    findings = list(check(ns, older_than=WEEK))
    ns.register_table("sales.again", location=place.name)

    assert [outcome for _, outcome in repairs.repair(ns, findings, older_than=WEEK)] == [repairs.GONE]
    assert ns.table("sales.again").count() == 1


def test_what_is_left_of_a_drop(ns: Namespace, tmp_path: Path):
    rest = tmp_path / "0123abcd_sales$dropped" / "data"
    rest.mkdir(parents=True)
    (rest / "x.lance").write_bytes(b"x")
    staged = tmp_path / ".put-0123"
    staged.write_bytes(b"")

    assert found(ns) == [], "a writer may be at work"
    age(rest.parent)
    age(staged)
    assert found(ns) == [(checks.LEFTOVER, ".put-0123"), (checks.ORPHAN_DIRECTORY, "0123abcd_sales$dropped")]
    assert set(mended(ns).values()) == {repairs.DONE}
    assert not rest.parent.exists()
    assert found(ns) == []


def test_duplicate_rows_are_one_again(ns: Namespace, tmp_path: Path):
    place = location(ns, "sales.orders")
    enter(tmp_path, Entry("sales$orders", TABLE, place.name))
    fresh = connect("dir", {"root": str(tmp_path)})

    assert found(fresh) == [(checks.DUPLICATE_ROW, "sales.orders")]
    assert mended(fresh) == {"sales.orders": repairs.DONE}
    assert found(fresh) == []
    assert fresh.table("sales.orders").count() == 1
    assert [entry.object_id for entry in all_rows(fresh.backend.catalog)].count("sales$orders") == 1


@pytest.mark.usefixtures("ns")
def test_dangling_rows(tmp_path: Path):
    place = tmp_path / "lost"
    lance.write_dataset(pa.Table.from_pylist(ROWS), place)
    version = json.dumps({"manifest_path": "_versions/1.manifest"})
    enter(tmp_path, Entry("lost$found$table", TABLE, place.name), Entry("nothing$7", TABLE_VERSION, metadata=version))
    fresh = connect("dir", {"root": str(tmp_path)})

    assert sorted(found(fresh)) == [(checks.NO_NAMESPACE, "lost.found.table"), (checks.NO_TABLE, "nothing.7")]
    assert mended(fresh) == {"lost.found.table": repairs.DONE, "nothing.7": repairs.DONE}
    assert found(fresh) == []
    assert fresh.table("lost.found.table").count() == 1


def test_a_view_whose_source_is_gone_is_for_a_person(ns: Namespace, tmp_path: Path):
    shutil.copytree(location(ns, "plain"), tmp_path / "view.lance")
    enter(tmp_path, Entry("view", TABLE, "view.lance", None, ("sales$nothing",)))

    (finding,) = check(connect("dir", {"root": str(tmp_path)}), older_than=WEEK)

    assert (finding.kind, finding.subject) == (checks.NO_SOURCE, "view")
    assert repairs.plan_repair(finding, orphans=True) == ""


def test_folders_of_jobs_that_never_ended(ns: Namespace, tmp_path: Path):
    folder = location(ns, "sales.orders") / FOLDER / "abc"
    kept = tmp_path / "__jobs" / "checkpoints" / "def"
    for place in (folder, kept):
        place.mkdir(parents=True)
        (place / "file").write_bytes(b"x")
    assert found(ns) == []
    age(folder)
    age(kept)

    outcomes = mended(ns)

    assert set(outcomes.values()) == {repairs.DONE}
    assert not folder.exists()
    assert not kept.exists()
    assert ns.table("sales.orders").count() == 1


def test_a_repair_that_was_interrupted_is_finished_by_the_next(ns: Namespace, tmp_path: Path):
    for name in ("sales.orders", "plain"):
        shutil.rmtree(location(ns, name))
    age(tmp_path / "__manifest")
    findings = list(check(ns, older_than=WEEK))
    steps = repairs.repair(ns, findings, older_than=WEEK)
    next(steps)
    del steps

    assert len(found(ns)) == 1
    assert [outcome for _, outcome in repairs.repair(ns, findings, older_than=WEEK)].count(repairs.DONE) == 1
    assert found(ns) == []


def test_one_that_cannot_be_mended_does_not_hold_up_the_others(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> bool:
        raise UnsupportedOperationError("not today")

    shutil.rmtree(location(ns, "sales.orders"))
    for place in (location(ns, "sales.soon"), tmp_path / "__manifest"):
        age(place)
    monkeypatch.setitem(repairs._REPAIRS, checks.MISSING_LOCATION, ("take the row out", refuse))

    assert mended(ns) == {"sales.orders": "not today", "sales.soon": repairs.DONE}

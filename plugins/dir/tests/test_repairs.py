"""A repair touches nothing that another process needs, creates or registers at that moment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    CommitTableOperation,
    ConcurrentModificationError,
    DeclareTableRequest,
    InvalidTableStateError,
    TableNotFoundError,
)

from lancespace import Namespace, connect
from lancespace_dir import checks, look, mutations, repairs, reservations
from lancespace_dir.checks import Finding, check
from lancespace_dir.listing import Listing
from lancespace_dir.root import CLAIM
from lancespace_jobs import FOLDER
from lancespace_tables import _creation as creation

WEEK = timedelta(days=7)
ROWS = [{"id": 1}]


@pytest.fixture
def ns(tmp_path: Path) -> Namespace:
    namespace = connect("dir", {"root": str(tmp_path)})
    namespace.create_namespace("sales")
    return namespace


@pytest.fixture
def fsck(tmp_path: Path) -> Namespace:
    """The connection of another process."""
    return connect("dir", {"root": str(tmp_path)})


def repair(namespace: Namespace, older_than: timedelta = WEEK, *, orphans: bool = False) -> list[tuple[str, str]]:
    found = [one for one in check(namespace, older_than=older_than) if repairs.plan_repair(one, orphans=orphans)]
    return [(one.kind, outcome) for one, outcome in repairs.repair(namespace, found, older_than=older_than)]


def age(path: Path) -> None:
    long_ago = time.time() - 30 * 24 * 3600
    for one in [path, *path.rglob("*")]:
        os.utime(one, (long_ago, long_ago))


@contextmanager
def once(patch: pytest.MonkeyPatch, owner: Any, name: str, meanwhile: Callable[[], object]) -> Iterator[None]:
    """Have something happen right before a function is called for the first time."""
    original = getattr(owner, name)

    def first(*arguments: Any, **options: Any) -> Any:
        patch.setattr(owner, name, original)
        meanwhile()
        return original(*arguments, **options)

    patch.setattr(owner, name, first)
    yield
    assert getattr(owner, name) is original, f"{name} was never called"


def orphan(root: Path, name: str = "0123abcd_orphan") -> Path:
    """A whole table that no row names, and that nobody has touched for long."""
    lance.write_dataset(pa.Table.from_pylist(ROWS), root / name)
    age(root / name)
    return root / name


def test_a_table_that_is_being_created_is_left_alone(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    outcomes: list[tuple[str, str]] = []
    with once(monkeypatch, creation, "_write_files", lambda: outcomes.extend(repair(fsck))):
        ns.create_table("sales.orders", ROWS)
    age(tmp_path / "__manifest")  # The catalog is old, and the row is not.
    with once(monkeypatch, creation, "_commit_first_version", lambda: outcomes.extend(repair(fsck, orphans=True))):
        ns.create_table("sales.more", ROWS)

    assert outcomes == []
    assert ns.table("sales.orders").count() == ns.table("sales.more").count() == 1


def test_a_table_whose_first_version_is_being_committed_is_no_finding(
    ns: Namespace, fsck: Namespace, monkeypatch: pytest.MonkeyPatch
):
    found: list[Finding] = []
    with once(monkeypatch, creation, "_commit_first_version", lambda: found.extend(check(fsck, older_than=WEEK))):
        ns.create_table("sales.orders", ROWS)

    assert found == []


def test_a_creator_whose_row_was_taken_out_reports_no_success(
    ns: Namespace, fsck: Namespace, monkeypatch: pytest.MonkeyPatch
):
    with (
        once(monkeypatch, creation, "_write_files", lambda: repair(fsck, timedelta(0))),
        pytest.raises(ConcurrentModificationError, match="create it again"),
    ):
        ns.create_table("sales.orders", ROWS)

    assert not ns.table("sales.orders").exists()


def test_a_row_comes_back_if_its_table_was_written_at_that_moment(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ns.declare_table("sales.orders", location="orders")
    age(tmp_path / "__manifest")

    def write() -> None:
        lance.write_dataset(pa.Table.from_pylist(ROWS), tmp_path / "orders")

    with once(monkeypatch, mutations, "take_out_table", write):
        assert repair(fsck) == [(checks.MISSING_LOCATION, repairs.GONE)]

    assert ns.table("sales.orders").count() == 1


def test_a_row_that_is_another_one_by_now_stays(ns: Namespace, fsck: Namespace, tmp_path: Path):
    ns.declare_table("sales.orders", location="orders")
    age(tmp_path / "__manifest")
    findings = list(check(fsck, older_than=WEEK))
    assert [one.kind for one in findings] == [checks.MISSING_LOCATION]
    ns.drop_table("sales.orders")
    ns.declare_table("sales.orders", location="elsewhere")

    assert [outcome for _, outcome in repairs.repair(fsck, findings, older_than=WEEK)] == [repairs.GONE]
    assert str(ns.describe_table("sales.orders").location).endswith("elsewhere")


@pytest.mark.parametrize("mode", ["true", "false"], ids=["manifest", "V1"])
def test_a_reservation_whose_writer_comes_back_keeps_its_data(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
):
    ns, fsck = (connect("dir", {"root": str(tmp_path), "manifest_enabled": mode}) for _ in range(2))
    ns.declare_table("soon")
    age(tmp_path / "soon.lance")
    findings = list(check(fsck, older_than=WEEK))
    assert [one.kind for one in findings] == [checks.STALE_RESERVATION]

    def write() -> None:
        lance.write_dataset(pa.Table.from_pylist(ROWS), tmp_path / "soon.lance")

    owner, name = (mutations, "take_out_table") if mode == "true" else (look.Look, "is_old")
    steps = repairs.repair(fsck, findings, older_than=WEEK)
    with once(monkeypatch, owner, name, write):
        list(steps)

    assert ns.table("soon").count() == 1


def test_an_orphan_that_is_registered_before_the_claim_is_kept(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = orphan(tmp_path)
    with once(monkeypatch, Listing, "claim", lambda: ns.register_table("sales.found", location=place.name)):
        assert repair(fsck, orphans=True) == [(checks.ORPHAN_TABLE, repairs.GONE)]

    assert ns.table("sales.found").count() == 1
    assert not list(place.glob(f"{CLAIM}*"))


@pytest.mark.parametrize("call", ["register", "declare", "batch"])
def test_an_orphan_that_fsck_claimed_or_deleted_cannot_be_entered(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
):
    place = orphan(tmp_path)
    declare = DeclareTableRequest(id=["sales", "found"], location=place.name)
    calls: dict[str, Callable[[], object]] = {
        "register": lambda: ns.register_table("sales.found", location=place.name),
        "declare": lambda: ns.declare_table("sales.found", location=place.name),
        "batch": lambda: ns.batch_commit_tables(operations=[CommitTableOperation(declare_table=declare)]),
    }
    claim = Path(Listing(ns.backend.storage).claim(place.name))
    with pytest.raises(InvalidTableStateError, match="fsck"):
        calls[call]()
    claim.unlink()
    age(place)

    with (
        once(monkeypatch, mutations, "enter_table", lambda: repair(fsck, orphans=True)),
        pytest.raises(InvalidTableStateError, match="deleted"),
    ):
        calls[call]()

    assert not place.exists()
    with pytest.raises(TableNotFoundError):
        ns.describe_table("sales.found")


def test_a_table_that_was_replaced_by_files_that_fsck_deletes_comes_back(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = orphan(tmp_path)
    ns.create_table("sales.orders", ROWS)
    with (
        once(monkeypatch, mutations, "enter_table", lambda: repair(fsck, orphans=True)),
        pytest.raises(InvalidTableStateError, match="deleted"),
    ):
        ns.register_table("sales.orders", location=place.name, mode="Overwrite")

    assert ns.table("sales.orders").count() == 1


def test_an_interrupted_deletion_of_an_orphan_is_finished(ns: Namespace, fsck: Namespace, tmp_path: Path):
    place = orphan(tmp_path)
    Listing(ns.backend.storage).claim(place.name)
    age(place)

    assert repair(fsck, orphans=True) == [(checks.ORPHAN_TABLE, repairs.DONE)]
    assert not place.exists()


def test_a_young_orphan_may_be_about_to_be_registered(ns: Namespace, fsck: Namespace, tmp_path: Path):
    lance.write_dataset(pa.Table.from_pylist(ROWS), tmp_path / "new")

    assert repair(fsck, orphans=True) == [(checks.ORPHAN_TABLE, repairs.GONE)]
    ns.register_table("sales.new", location="new")
    assert ns.table("sales.new").count() == 1


def test_v1_tables_are_no_orphans_for_a_connection_that_does_not_show_them(ns: Namespace, tmp_path: Path):
    lance.write_dataset(pa.Table.from_pylist(ROWS), tmp_path / "old.lance")
    age(tmp_path / "old.lance")
    strict = connect("dir", {"root": str(tmp_path), "dir_listing_enabled": "false"})

    assert [one.kind for one in check(strict, older_than=WEEK)] == [checks.HIDDEN_TABLE]
    assert repair(strict, orphans=True) == []
    assert ns.table("old").count() == 1


def test_what_is_old_by_the_clock_of_this_machine_alone_is_left_alone(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Ahead:
            return super().now(tz) + timedelta(days=30)

    ns.declare_table("sales.soon")
    (tmp_path / "0123abcd_left" / "data").mkdir(parents=True)
    monkeypatch.setattr(look, "datetime", Ahead)
    assert len(list(check(fsck, older_than=WEEK))) == 2

    assert repair(fsck) == [(checks.STALE_RESERVATION, repairs.GONE), (checks.ORPHAN_DIRECTORY, repairs.GONE)]
    assert ns.table("sales.soon").exists()
    assert (tmp_path / "0123abcd_left" / "data").exists()


def test_an_equal_row_that_was_entered_again_is_young(ns: Namespace, fsck: Namespace, tmp_path: Path):
    ns.declare_table("sales.orders", location="orders")
    age(tmp_path / "__manifest")
    findings = list(check(fsck, older_than=WEEK))
    assert [one.kind for one in findings] == [checks.MISSING_LOCATION]
    ns.drop_table("sales.orders")
    ns.declare_table("sales.orders", location="orders")

    assert list(check(fsck, older_than=WEEK)) == []
    assert [outcome for _, outcome in repairs.repair(fsck, findings, older_than=WEEK)] == [repairs.GONE]
    assert ns.describe_table("sales.orders").location


@pytest.mark.parametrize("location", ["orders", None], ids=["missing location", "stale reservation"])
def test_an_equal_row_that_is_entered_right_before_the_repair_stays(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str | None
):
    ns.declare_table("orders", location=location)
    age(tmp_path)
    findings = list(check(fsck, older_than=WEEK))

    def again() -> None:
        ns.drop_table("orders")
        ns.declare_table("orders", location=location)

    steps = repairs.repair(fsck, findings, older_than=WEEK)
    with once(monkeypatch, reservations, "take_out", again):
        assert [outcome for _, outcome in steps] == [repairs.GONE]
    assert ns.describe_table("orders").location
    assert ns.create_table("orders", ROWS).version == 1


def test_a_missing_location_is_found_in_a_catalog_that_others_change_all_the_time(
    ns: Namespace, fsck: Namespace, tmp_path: Path
):
    ns.declare_table("sales.orders", location="orders")
    age(tmp_path / "__manifest")
    for number in range(20):
        ns.create_namespace(f"n{number}")

    assert repair(fsck) == [(checks.MISSING_LOCATION, repairs.DONE)]
    assert not ns.table("sales.orders").exists()


def test_files_of_a_job_that_goes_on_right_before_the_repair_stay(
    ns: Namespace, fsck: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ns.create_table("orders", ROWS)
    staged = tmp_path / "orders.lance" / FOLDER / "job"
    staged.mkdir(parents=True)
    (staged / "one.lance").touch()
    age(staged)

    def delete(given: repairs.Context, finding: Finding) -> bool:
        (staged / "two.lance").touch()
        return repairs._delete(given, finding)

    monkeypatch.setitem(repairs._REPAIRS, checks.LEFTOVER, ("delete it", delete))
    assert repair(fsck) == [(checks.LEFTOVER, repairs.GONE)]
    assert {file.name for file in staged.iterdir()} == {"one.lance", "two.lance"}

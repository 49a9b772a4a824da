"""V1 catalogs become V2 catalogs, in one go or after an interruption."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import NamespaceAlreadyExistsError, TableAlreadyExistsError, UnsupportedOperationError

import lancespace
from lancespace.authoring import JobState
from lancespace_dir import migrate, migration, unmigrated
from lancespace_jobs import JobFailedError
from lancespace_testing.waiting import until
from plugins.dir.tests.modes import WITH_MANIFEST, Properties
from plugins.dir.tests.pausing import Pauses, pauses
from plugins.dir.tests.support import OK, OURS, V1_ONLY, V2_ONLY, Client, outcome, rows, write_table

__all__ = ["pauses"]

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
            real(migration._Batch(*other.connection_args(), ("t1",)))
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


def clashing(root: Path, how: str) -> None:
    """Give the name of a V1 table to something else, as another implementation or an earlier release may have done."""
    v2 = {"root": str(root), "dir_listing_enabled": "false"}
    with lancespace.connect("dir", v2) as namespace:
        if how == "namespace":
            namespace.create_namespace("t9")
        else:
            namespace.create_table("t9", pa.table({"id": [90]}))
    lance.write_dataset(pa.table({"id": [9]}), str(root / "t9.lance"))


@pytest.mark.parametrize("how", ["namespace", "table"])
def test_a_name_that_is_taken_stops_a_migration_before_it_changes_anything(v1: Path, how: str):
    clashing(v1, how)
    before = rows(v1)

    with lancespace.connect("dir", {"root": str(v1)}) as namespace:
        job = migrate(namespace)
        with pytest.raises(JobFailedError, match=rf"'t9\.lance' has the same name as the {how} 't9'.*rename_table"):
            job.wait()
        assert namespace.describe_transaction(job.id).status == "FAILED"
        assert rows(v1) == before
        assert unmigrated(namespace) == [*V1, "t9"]

        namespace.rename_table("t9", new_table_name="t10")
        migrate(namespace).wait()
    assert set(tables(v1, dir_listing_enabled="false")) >= {*V1, "t10"}


@pytest.mark.parametrize("mode", [{}, {"dir_listing_enabled": "false"}], ids=["compatibility", "V2"])
def test_a_namespace_with_the_name_of_a_v1_table_is_refused(v1: Path, mode: dict[str, str]):
    with lancespace.connect("dir", {"root": str(v1), **mode}) as namespace:
        for create in ("create", "exist_ok", "overwrite"):
            with pytest.raises(NamespaceAlreadyExistsError, match=r"the V1 table at 't1\.lance'"):
                namespace.create_namespace("t1", mode=create)
        namespace.create_namespace("t4")  # The V1 table of this name was deregistered.
        namespace.create_namespace("t4.t1")
    assert rows(v1).keys() == {"t4", "t4$t1"}


MANIFEST_CALLS: dict[str, Callable[[Client], object]] = {
    "declare": lambda client: client.declare(("n",)),
    "declare at a location": lambda client: client.declare(("n",), location="place"),
    "create_table": lambda client: client.create_table(("n",)),
    "register": lambda client: client.register(("n",), "spare"),
    "rename": lambda client: client.rename(("a", "s"), ("n",)),
}
"""What makes a table of the name ``n`` in the manifest."""


def with_spares(root: Path, properties: Properties) -> Client:
    """A catalog with a table to rename and one to register."""
    client = Client(OURS, root, **properties)
    client.create_namespace(("a",))
    client.create_table(("a", "s"))
    write_table(root, "spare")
    return client


@pytest.mark.parametrize("call", MANIFEST_CALLS)
@WITH_MANIFEST
def test_a_table_with_the_name_of_a_v1_table_is_refused(tmp_path: Path, properties: Properties, call: str):
    client = with_spares(tmp_path, properties)
    write_table(tmp_path, "n.lance")
    before = rows(tmp_path)

    assert outcome(lambda: MANIFEST_CALLS[call](client)) == "TableAlreadyExists"
    assert rows(tmp_path) == before
    client.register(("n",), "n.lance")
    assert Client(OURS, tmp_path, **V2_ONLY).tables() == ["n"]


def test_a_v1_table_with_the_name_of_something_in_the_manifest_is_refused(tmp_path: Path):
    with lancespace.connect("dir", {"root": str(tmp_path), "dir_listing_enabled": "false"}) as namespace:
        namespace.create_namespace("n")
        namespace.create_table("t", pa.table({"id": [1]}))
    with lancespace.connect("dir", {"root": str(tmp_path), "manifest_enabled": "false"}) as v1:
        for name, kind in (("n", "namespace"), ("t", "table")):
            with pytest.raises(TableAlreadyExistsError, match=f"a {kind} in the catalog's manifest"):
                v1.create_table(name, pa.table({"id": [1]}))
        v1.create_table("u", pa.table({"id": [1]}))
        with pytest.raises(TableAlreadyExistsError):
            v1.rename_table("u", new_table_name="n")
        assert list(v1.tables()) == ["u"]


V1_CALLS: dict[str, Callable[[Client], object]] = {
    "declare": lambda client: client.declare(("n",)),
    "create_table": lambda client: client.create_table(("n",)),
    "rename": lambda client: client.rename(("old",), ("n",)),
    "register": lambda client: client.register(("n",), "n.lance"),
}
"""What makes a V1 table of the name ``n``."""


@pytest.mark.parametrize("call", V1_CALLS)
@pytest.mark.parametrize("first", ["namespace", "table"])
def test_of_a_namespace_and_a_v1_table_of_one_name_one_succeeds(tmp_path: Path, pauses: Pauses, call: str, first: str):
    answers = set()
    for moment in pauses.moments():
        root = tmp_path / str(moment)
        namespaces, tables = Client(OURS, root), Client(OURS, root, **V1_ONLY)
        namespaces.create_namespace(("other",))
        if call in {"rename", "register"}:
            write_table(root, "old.lance" if call == "rename" else "n.lance")
        if call == "register":
            tables.deregister(("n",))
        parties: list[Callable[[], object]] = [
            partial(namespaces.create_namespace, ("n",)),
            partial(V1_CALLS[call], tables),
        ]
        mine, theirs = parties if first == "namespace" else reversed(parties)
        told: list[str] = []
        with pauses.at(moment, lambda: told.append(outcome(theirs))):  # noqa: B023 - called in the block
            told.append(outcome(mine))

        there = [namespaces.has_namespace(("n",)), tables.has_table(("n",))]
        assert told.count(OK) == there.count(True) <= 1
        if call == "rename":
            assert tables.has_table(("old",)) or tables.has_table(("n",))
        answers.add(tuple(answer == OK for answer in told))
    assert {(True, False), (False, True)} <= answers


@pytest.mark.parametrize("theirs", ["declare", "create_table", "rename"])
@pytest.mark.parametrize("mine", ["declare", "declare at a location", "register", "rename"])
@pytest.mark.parametrize("first", ["manifest", "V1"])
def test_of_a_table_in_the_manifest_and_a_v1_table_of_one_name_one_succeeds(
    tmp_path: Path, pauses: Pauses, mine: str, theirs: str, first: str
):
    properties = V2_ONLY if mine == "declare" else {}  # A declared table in compatibility mode shares the directory.
    answers = set()
    for moment in pauses.moments():
        root = tmp_path / str(moment)
        manifest, tables = with_spares(root, properties), Client(OURS, root, **V1_ONLY)
        if theirs == "rename":
            write_table(root, "old.lance")
        parties: list[Callable[[], object]] = [
            partial(MANIFEST_CALLS[mine], manifest),
            partial(V1_CALLS[theirs], tables),
        ]
        early, late = parties if first == "manifest" else reversed(parties)
        told: list[str] = []
        with pauses.at(moment, lambda: told.append(outcome(late))):  # noqa: B023 - called in the block
            told.append(outcome(early))

        there = ["n" in rows(root), tables.has_table(("n",))]
        assert told.count(OK) == there.count(True) <= 1
        assert mine != "rename" or manifest.has_table(("a", "s")) or there[0]
        answers.add(tuple(answer == OK for answer in told))
    assert {(True, False), (False, True)} <= answers

"""A writer or reader that is paused at any point, while others commit and old versions are deleted.

Whatever is reported as done is seen by everybody afterwards, what others did stays, and a call that cannot tell whether
it did something says so.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InternalError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
)

import lancespace
from lancespace import Namespace
from lancespace_dir.managed_versions import Commit, ManagedVersions
from lancespace_dir.manifest import cleanup
from lancespace_dir.manifest.cleanup import clean_up
from lancespace_dir.manifest.reader import ManifestReader
from lancespace_dir.manifest.schema import DIRECTORY
from lancespace_dir.manifest.versions import VersionFiles
from lancespace_tables import Manifest
from lancespace_tables import _appends as appends
from lancespace_testing.samples import COUNT, sample
from plugins.dir.tests import managing
from plugins.dir.tests.manifests import as_rust_leaves_it, manifest_at, put, remove, rows, storage_at
from plugins.dir.tests.pausing import Pauses, pauses
from tests.emulators.clouds import Cloud

__all__ = ["pauses"]

Connect = Callable[[], Namespace]
OTHERS = 6
"""So many commits of others, more than the versions that are kept."""


@pytest.fixture(autouse=True)
def _few_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "KEEP_VERSIONS", 3)


@dataclass(frozen=True)
class Case:
    """A change, and how everybody sees that it has happened."""

    name: str
    change: Callable[[Namespace], Any]
    has_happened: Callable[[Namespace], bool]

    def __str__(self) -> str:
        return self.name


def has_table(name: str) -> Callable[[Namespace], bool]:
    """Whether there is a table with all its rows."""

    def look(namespace: Namespace) -> bool:
        parent, _, last = name.rpartition(".")
        with suppress(InvalidTableStateError):  # The pause was before its rows were written.
            return last in list(namespace.tables(parent or [])) and namespace.count_table_rows(name).count == COUNT
        return False

    return look


def has_namespace(name: str) -> Callable[[Namespace], bool]:
    return lambda namespace: name in list(namespace.namespaces())


def negated(look: Callable[[Namespace], bool]) -> Callable[[Namespace], bool]:
    return lambda namespace: not look(namespace)


CREATE = Case("create_namespace", lambda ns: ns.create_namespace("new"), has_namespace("new"))
DROP = Case("drop_namespace", lambda ns: ns.drop_namespace("old"), negated(has_namespace("old")))
TABLES = [
    Case("create_table", lambda ns: ns.create_table("a.new", sample()), has_table("a.new")),
    Case("drop_table", lambda ns: ns.drop_table("a.t"), lambda ns: "t" not in list(ns.tables("a"))),
    Case(
        "rename_table", lambda ns: ns.rename_table("a.t", new_table_name="u", new_namespace_id=["a"]), has_table("a.u")
    ),
]


def others(connect: Connect) -> None:
    """Six commits and a clean-up by somebody else."""
    commits_of_others(connect)
    clean(connect)


def commits_of_others(connect: Connect) -> None:
    with connect() as rival:
        for _ in range(OTHERS):
            rival.create_namespace(f"of_others_{uuid.uuid4().hex[:8]}")


def clean(connect: Connect) -> None:
    with connect() as namespace:
        reader = ManifestReader(namespace.backend.storage)
        reader.refresh()
        clean_up(namespace.backend.storage, reader, 64)


def prepare(connect: Connect) -> None:
    with connect() as namespace:
        for name in ("a", "old"):
            namespace.create_namespace(name)
        namespace.create_table("a.t", sample())


def sweep(
    case: Case,
    pauses: Pauses,
    connected: Callable[[], Connect],
    *,
    begin: Callable[[Connect], object] = prepare,
    meanwhile: Callable[[Connect], object] = others,
) -> tuple[int, int]:
    """Pause a change at every moment: how many moments there are, and after how many nobody could tell."""
    unknown = moment = 0
    for moment in pauses.moments():
        connect = connected()
        begin(connect)
        with connect() as writer, connect() as idle:
            assert list(writer.namespaces()) == list(idle.namespaces())
            error = None
            with pauses.at(moment, lambda: meanwhile(connect)):  # noqa: B023 - called in the block
                try:
                    case.change(writer)
                except LanceNamespaceError as failure:
                    error = failure
            assert error is None or isinstance(error, InternalError), (moment, error)
            assert error is None or "may or may not" in str(error), (moment, error)
            unknown += error is not None
            found = set()
            with connect() as fresh:
                for party in (writer, idle, fresh):
                    found.add(case.has_happened(party))
                    names = list(party.namespaces())
                    assert len([name for name in names if name.startswith("of_others")]) == OTHERS * pauses.has_paused
            assert len(found) == 1, moment
            assert error is not None or found == {True}, moment
    return moment, unknown


@pytest.mark.parametrize("case", [CREATE, DROP], ids=str)
def test_a_writer_paused_at_any_point(case: Case, tmp_path: Path, pauses: Pauses):
    moments, unknown = sweep(case, pauses, lambda: local(tmp_path))

    assert moments > 20
    assert 0 < unknown < 12


def test_the_first_writer_of_all_paused_at_any_point(tmp_path: Path, pauses: Pauses):
    moments, unknown = sweep(CREATE, pauses, lambda: local(tmp_path), begin=lambda _: None)

    assert moments > 30
    assert 0 < unknown < 12


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["true", "false"], ids=["compatibility", "V2"])
@pytest.mark.parametrize("case", TABLES, ids=str)
def test_a_writer_of_tables_paused_at_any_point(case: Case, mode: str, tmp_path: Path, pauses: Pauses):
    moments, unknown = sweep(case, pauses, lambda: local(tmp_path, dir_listing_enabled=mode))

    assert moments > 20
    assert unknown < 16


@pytest.mark.slow
@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("case", [CREATE, DROP, *TABLES], ids=str)
def test_a_writer_to_a_store_paused_at_any_point(case: Case, cloud: Cloud, pauses: Pauses):
    def connected() -> Connect:
        root = cloud.new_root()
        return lambda: cloud.connect(root)

    moments, unknown = sweep(case, pauses, connected)

    assert moments > 10
    assert unknown == 0


def local(folder: Path, **properties: str) -> Connect:
    """A way to connect to a new catalog."""
    root = str(folder / uuid.uuid4().hex)
    return lambda: lancespace.connect("dir", {"root": root, **properties})


def test_two_writers_of_one_name_never_both_win(tmp_path: Path, pauses: Pauses):
    for moment in pauses.moments():
        connect = local(tmp_path)
        prepare(connect)
        won: list[str] = []

        def take_the_name(connect: Connect = connect, won: list[str] = won) -> None:
            with connect() as rival, suppress(NamespaceAlreadyExistsError):
                rival.create_namespace("new", properties={"of": "rival"})
                won.append("rival")
            others(connect)

        with connect() as writer:
            with pauses.at(moment, take_the_name), suppress(NamespaceAlreadyExistsError, InternalError):
                writer.create_namespace("new", properties={"of": "writer"})
                won.append("writer")
            winner, *losers = won or ["writer"]  # It could not tell.
            assert not losers, moment
            with connect() as fresh:
                for party in (writer, fresh):
                    assert party.describe_namespace("new").properties == {"of": winner}, moment


def test_a_reader_paused_at_any_point_sees_the_latest(tmp_path: Path, pauses: Pauses):
    """One that knows the catalog, and one that has just connected; what it reads is gone when it goes on."""
    for moment in pauses.moments():
        connect = local(tmp_path)
        prepare(connect)
        with connect() as cold, connect() as warm:
            assert "old" in list(warm.namespaces())
            others(connect)
            for reader in (cold, warm):
                with pauses.at(moment, lambda: others(connect)):  # noqa: B023 - called in the block
                    assert set(reader.namespaces()) > {"a", "old"}
            for reader in (cold, warm):
                assert len(list(reader.namespaces())) > 2 * OTHERS * pauses.has_paused


def test_a_clean_up_that_was_paused_leaves_another_catalog_alone(tmp_path: Path, pauses: Pauses):
    for moment in pauses.moments():
        root = tmp_path / str(moment)
        manifest = manifest_at(root)
        for number in range(2 * OTHERS):
            put(manifest, f"t{number}")
        reader = ManifestReader(storage_at(root))
        reader.refresh()

        def replace(root: Path = root) -> None:
            root.rename(root.with_suffix(".old"))
            made = manifest_at(root)
            for number in range(OTHERS):
                put(made, f"new{number}")

        with pauses.at(moment, replace), suppress(FileNotFoundError):
            clean_up(storage_at(root), reader, 64)
        if pauses.has_paused:
            assert len(rows(root)) == OTHERS
            files = VersionFiles(storage_at(root))
            assert all(files.exists(number) for number in range(1, OTHERS + 1)), moment


def test_a_writer_that_stays_away_leaves_nothing_at_a_free_number(tmp_path: Path, pauses: Pauses):
    """Between its last look and its commit; others find their way whatever it leaves there."""
    for moment in pauses.moments():
        root = tmp_path / str(moment)
        manifest, idle = manifest_at(root), manifest_at(root)
        put(manifest, "x")
        assert idle.get("x") is not None
        with pauses.at(moment, lambda: leave_behind(root)), suppress(InternalError):  # noqa: B023 - called in the block
            put(manifest, "mine")
        numbers = VersionFiles(storage_at(root))._numbers()
        assert numbers[0] == 1
        assert numbers[1:] == list(range(numbers[1], numbers[-1] + 1)), moment
        assert idle.get("mine") == manifest.get("mine") == manifest_at(root).get("mine")


def leave_behind(root: Path) -> None:
    """Commits of another, so many that all is gone that was there."""
    manifest = manifest_at(root)
    for number in range(OTHERS):
        put(manifest, f"t{number}")
    remove(manifest, "t0")
    reader = ManifestReader(storage_at(root))
    reader.refresh()
    clean_up(storage_at(root), reader, 64)


def test_every_file_that_a_kept_version_needs_stays(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, *(f"t{number:04d}" for number in range(600)))
    for number in range(2 * OTHERS):
        remove(manifest, f"t{number:04d}")
    before = rows(tmp_path)
    leave_behind(tmp_path)

    versions = lance.dataset(str(tmp_path / DIRECTORY)).versions()
    for version in [entry["version"] for entry in versions][1:]:
        assert lance.dataset(str(tmp_path / DIRECTORY), version=version).to_table().num_rows >= len(before)
    assert len(list((tmp_path / DIRECTORY / "_deletions").iterdir())) == 1


def test_a_manifest_that_lance_commits_is_not_cleaned_up(tmp_path: Path):
    as_rust_leaves_it(tmp_path, ["x"], enable_stable_row_ids=True)
    leave_behind(tmp_path)

    files = VersionFiles(storage_at(tmp_path))
    assert all(files.exists(number) for number in range(1, OTHERS + 3))


def replaced(namespace: Namespace) -> None:
    """A managed table is dropped and created again: in the root, it comes to the same place."""
    namespace.drop_table("t")
    namespace.create_table("t", sample())


def test_versions_of_a_later_table_are_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    delete = ManagedVersions.delete
    with managing.connect(tmp_path) as namespace, managing.connect(tmp_path) as rival:
        for _ in range(2):
            namespace.create_table("t", sample(), mode="overwrite")

        def delete_late(self: ManagedVersions, manifests: Iterable[Manifest]) -> int:
            doomed = list(manifests)
            replaced(rival)
            return delete(self, doomed)

        monkeypatch.setattr(ManagedVersions, "delete", delete_late)
        namespace.insert_into_table("t", sample())
        namespace.batch_delete_table_versions("t", ranges=[{"start_version": 1, "end_version": 2}])
        assert rival.count_table_rows("t").count == COUNT


def test_a_commit_is_not_made_on_top_of_a_later_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    prepare = Commit.prepare
    with managing.connect(tmp_path) as namespace, managing.connect(tmp_path) as rival:
        namespace.create_table("t", sample())

        def prepare_early(self: Commit) -> None:
            monkeypatch.setattr(Commit, "prepare", prepare)
            prepare(self)
            replaced(rival)

        monkeypatch.setattr(Commit, "prepare", prepare_early)
        with suppress(LanceNamespaceError):
            namespace.insert_into_table("t", sample())
        assert rival.count_table_rows("t").count == COUNT
        assert managing.versions(rival, "t") == [1]


@pytest.mark.parametrize("more", [0, 3], ids=["as many versions", "more versions"])
def test_rows_that_were_written_to_the_table_before_are_not_committed_to_the_next(
    more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Lance puts them on top of what others did; their files went with the table that they were written to."""
    committed = appends._committed
    with managing.connect(tmp_path) as namespace, managing.connect(tmp_path) as rival:
        namespace.create_table("t", sample())

        def committed_late(*arguments: Any) -> int:
            monkeypatch.setattr(appends, "_committed", committed)
            replaced(rival)
            for _ in range(more):
                rival.insert_into_table("t", sample())
            return committed(*arguments)

        monkeypatch.setattr(appends, "_committed", committed_late)
        with pytest.raises(ConcurrentModificationError):
            namespace.insert_into_table("t", sample())
        for party in (namespace, rival):
            assert len(party.table("t").to_arrow()) == (1 + more) * COUNT

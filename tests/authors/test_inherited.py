"""What a backend inherits from TableBackend is safe: for concurrent callers, and for callers that are killed."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    DeclareTableRequest,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    RenameTableRequest,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)

import lancespace_views as views
from lancespace import Namespace
from lancespace.authoring import Storage
from lancespace_tables import _catalog as claims
from lancespace_tables import _creation as creation
from lancespace_testing.threads import race
from plugins.dir.tests.crashing import Killer
from plugins.dir.tests.processes import Process, together
from tests.authors.jsonfiles import EIGHT, NINE, open_catalog, write

ROUNDS = 10

Locations = set[str | None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("jsonfiles"))


@pytest.fixture
def eight(folder: Path, tmp_path: Path) -> Namespace:
    """A catalog that has the eight required operations and nothing more."""
    return open_catalog(folder, EIGHT, tmp_path / "root")


@pytest.fixture
def nine(folder: Path, tmp_path: Path) -> Namespace:
    """A catalog that can replace an entry in one step, too."""
    return open_catalog(folder, NINE, tmp_path / "root")


def rows(number: int) -> pa.Table:
    return pa.table({"id": [number]})


def ids(namespace: Namespace, name: str) -> list[int]:
    found: list[int] = namespace.table(name).to_arrow()["id"].to_pylist()
    return found


def entries(namespace: Namespace) -> dict[str, tuple[str | None, dict[str, str] | None]]:
    """The catalog as it is: the location and the properties of every table."""
    names = namespace.list_all_tables().tables
    described = [(name, namespace.describe_table(name.split("$"))) for name in names]
    return {name: (found.location, found.properties) for name, found in described}


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*.lance") if path.is_dir() and (path / "_versions").exists()}


def before(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, act: Callable[[], object]) -> None:
    """Have another caller act before the next call of a function."""
    original = getattr(owner, name)

    def delayed(*arguments: Any, **options: Any) -> Any:
        monkeypatch.undo()
        act()
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, delayed)


def test_eight_operations_give_no_rename(eight: Namespace):
    eight.create_table("t", rows(1))

    assert "rename_table" not in eight.capabilities()
    with pytest.raises(UnsupportedOperationError, match="does not support rename_table"):
        eight.rename_table("t", new_table_name="u")
    with pytest.raises(UnsupportedOperationError, match="cannot change the entry of the table 't' in one step"):
        eight.backend.operation("rename_table")(RenameTableRequest(id=["t"], new_table_name="u"))
    assert list(eight.tables()) == ["t"]


def test_eight_operations_replace_no_entry(eight: Namespace, tmp_path: Path):
    eight.create_table("t", rows(1), properties={"owner": "me"})
    before = entries(eight)
    lance.write_dataset(rows(2), tmp_path / "other.lance")

    with pytest.raises(UnsupportedOperationError, match="cannot change the entry of the table 't' in one step"):
        eight.register_table("t", location=str(tmp_path / "other.lance"), mode="overwrite")
    with pytest.raises(UnsupportedOperationError, match="cannot change the properties of the table 't'"):
        eight.create_table("t", rows(2), mode="overwrite", properties={"owner": "you"})
    assert (entries(eight), ids(eight, "t")) == (before, [1])

    eight.create_table("t", rows(3), mode="overwrite", properties={"owner": "me"})
    eight.register_table("u", location=str(tmp_path / "other.lance"), mode="overwrite")
    assert (ids(eight, "t"), ids(eight, "u")) == ([3], [2])


def test_nine_operations_give_all(nine: Namespace, tmp_path: Path):
    nine.create_table("t", rows(1), properties={"owner": "me"})
    lance.write_dataset(rows(2), tmp_path / "other.lance")

    nine.create_table("t", rows(3), mode="overwrite", properties={"owner": "you"})
    nine.rename_table("t", new_table_name="u")
    assert (ids(nine, "u"), nine.describe_table("u").properties) == ([3], {"owner": "you"})

    nine.register_table("u", location=str(tmp_path / "other.lance"), mode="overwrite")
    assert (ids(nine, "u"), nine.describe_table("u").properties) == ([2], {})


def rename_to(namespace: Namespace, number: int) -> None:
    namespace.rename_table("t", new_table_name=f"u{number}")


@pytest.mark.parametrize("backend", [EIGHT, NINE])
def test_concurrent_renames_leave_one_name(backend: str, folder: Path, tmp_path: Path):
    for number in range(ROUNDS):
        namespace = open_catalog(folder, backend, tmp_path / str(number))
        namespace.create_table("t", rows(number))

        ended = race(functools.partial(rename_to, namespace), threads=2)

        names = list(namespace.tables())
        assert names == ([f"u{who}" for who in ended.won] or ["t"])
        assert len(names) == 1
        assert ids(namespace, names[0]) == [number]


def overwrite_by_other(namespace: Namespace) -> None:
    namespace.create_table("t", rows(2), mode="overwrite", properties={"by": "other"})


def test_who_changes_the_entry_meanwhile_wins(nine: Namespace, monkeypatch: pytest.MonkeyPatch):
    nine.create_table("t", rows(1))
    before(monkeypatch, nine.backend, "replace_entry", lambda: overwrite_by_other(nine))
    with pytest.raises(ConcurrentModificationError, match="'t' was changed by another caller"):
        nine.rename_table("t", new_table_name="v")
    assert (list(nine.tables()), ids(nine, "t")) == (["t"], [2])


def test_of_two_overwriters_the_properties_are_the_first_ones(nine: Namespace, monkeypatch: pytest.MonkeyPatch):
    nine.create_table("t", rows(1))
    before(monkeypatch, nine.backend, "replace_entry", lambda: overwrite_by_other(nine))

    with pytest.raises(ConcurrentModificationError):
        nine.create_table("t", rows(3), mode="overwrite", properties={"by": "me"})

    assert (ids(nine, "t"), nine.describe_table("t").properties) == ([2], {"by": "other"})


def test_a_drop_deletes_what_it_took_out(eight: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    eight.create_table("t", rows(1))

    def create_again() -> None:
        eight.drop_table("t")
        eight.create_table("t", rows(2))

    before(monkeypatch, eight.backend, "deregister_table", create_again)
    eight.drop_table("t")

    assert list(eight.tables()) == []
    assert files(tmp_path / "root") == set()


@pytest.mark.parametrize("place", ["{}", "{}/", "{}/nested.lance", "{}/.."])
def test_a_drop_keeps_the_files_of_another_table(eight: Namespace, place: str, caplog: pytest.LogCaptureFixture):
    location = eight.create_table("t", rows(1)).location
    eight.backend.declare_table(DeclareTableRequest(id=["u"], location=place.format(location)))

    eight.drop_table("u")

    assert (list(eight.tables()), ids(eight, "t")) == (["t"], [1])
    assert "files of the dropped table 'u' are kept: they belong to ['t']" in caplog.text


@pytest.mark.parametrize("backend", [EIGHT, NINE])
def test_one_location_has_one_name(backend: str, folder: Path, tmp_path: Path):
    namespace = open_catalog(folder, backend, tmp_path / "root")
    location = namespace.create_table("t", rows(1)).location
    namespace.declare_table("u")

    for mode in ("create", "overwrite"):
        with pytest.raises(InvalidInputError, match="is that of the table 't'"):
            namespace.register_table("u" if mode == "overwrite" else "v", location=location, mode=mode)
    with pytest.raises(TableAlreadyExistsError):
        namespace.register_table("t", location=location)
    assert list(namespace.tables()) == ["t", "u"]


def test_a_drop_keeps_what_is_registered_before_it_looks(eight: Namespace, monkeypatch: pytest.MonkeyPatch):
    location = eight.create_table("t", rows(1)).location
    refused: list[LanceNamespaceError] = []

    def register() -> None:
        try:
            eight.register_table("u", location=location)
        except LanceNamespaceError as error:
            refused.append(error)

    before(monkeypatch, claims, "delete_unless", register)
    eight.drop_table("t")

    assert (refused, list(eight.tables()), ids(eight, "u")) == ([], ["u"], [1])


@pytest.mark.parametrize("moment", ["users_of", "delete_tree"])
def test_what_a_drop_deletes_is_not_registered(
    moment: str, eight: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    location = eight.create_table("t", rows(1)).location

    def register() -> None:
        with pytest.raises(InvalidTableStateError, match="a drop is deleting the files there"):
            eight.register_table("u", location=location)

    before(monkeypatch, claims if moment == "users_of" else Storage, moment, register)
    eight.drop_table("t")

    assert (list(eight.tables()), files(tmp_path / "root")) == ([], set())
    assert location is not None
    assert not Path(location).exists()


def test_a_registration_that_a_drop_overtakes_says_so(eight: Namespace, monkeypatch: pytest.MonkeyPatch):
    location = eight.create_table("t", rows(1)).location
    eight.deregister_table("t")
    folder = Path(str(location))

    before(monkeypatch, eight.backend, "declare_table", (folder / ".lance-deleting-1").touch)
    with pytest.raises(InvalidTableStateError, match="If the name is in the catalog now, drop or deregister it"):
        eight.register_table("u", location=location)


def test_a_create_that_was_paused_ends_in_a_table_or_an_error(eight: Namespace, monkeypatch: pytest.MonkeyPatch):
    def create_and_drop() -> None:
        eight.create_table("t", rows(2))
        eight.drop_table("t")

    before(monkeypatch, creation, "_commit_first_version", create_and_drop)
    with pytest.raises(ConcurrentModificationError, match="dropped"):
        eight.create_table("t", rows(1))
    with pytest.raises(TableNotFoundError):
        eight.table_exists("t")


def test_a_create_that_was_paused_meets_another_table(eight: Namespace, monkeypatch: pytest.MonkeyPatch):
    def drop_and_create() -> None:
        eight.drop_table("t")
        eight.create_table("t", rows(2))

    before(monkeypatch, creation, "_commit_first_version", drop_and_create)
    with pytest.raises(ConcurrentModificationError, match="send the data again"):
        eight.create_table("t", rows(1))
    assert ids(eight, "t") == [2]


def test_a_cascade_meets_another_one(eight: Namespace, monkeypatch: pytest.MonkeyPatch):
    eight.create_namespace("a")
    eight.create_namespace("a.b")
    for name in ("a.t", "a.b.t"):
        eight.create_table(name, rows(1))
    before(monkeypatch, eight.backend, "list_tables", lambda: eight.drop_namespace("a.b", behavior="Cascade"))
    eight.drop_namespace("a", behavior="Cascade")

    assert (list(eight.namespaces()), eight.list_all_tables().tables) == ([], [])


def test_a_listing_goes_on_when_a_namespace_is_dropped(eight: Namespace, monkeypatch: pytest.MonkeyPatch):
    for name in ("a", "b"):
        eight.create_namespace(name)
    eight.declare_table("b.t")
    original = eight.backend.list_tables

    def dropping(request: Any) -> Any:
        if request.id == ["a"]:
            eight.drop_namespace("a")
        return original(request)

    monkeypatch.setattr(eight.backend, "list_tables", dropping)
    assert eight.list_all_tables().tables == ["b$t"]


def test_a_batch_takes_no_source_of_a_view_away(nine: Namespace):
    nine.create_table("t", rows(1))
    nine.create_materialized_view("v", **views.query_view("SELECT id FROM t", pa.schema({"id": pa.int64()})))

    with pytest.raises(LanceNamespaceError, match="materialized views are made from it"):
        nine.batch_commit_tables(operations=[{"deregister_table": {"id": ["t"]}}])
    assert sorted(nine.tables()) == ["t", "v"]


class Work:
    """Random changes of a few tables; what was acknowledged is counted by locations, which are never used twice."""

    def __init__(self, namespace: Namespace, seed: int) -> None:
        self.namespace = namespace
        self.random = random.Random(seed)
        self.made: Locations = set()
        self.dropped: Locations = set()

    def act(self, changes: int) -> None:
        """Make this many changes, or try to."""
        for _ in range(changes):
            self._change()

    def _change(self) -> None:
        name, other = self.random.sample(["a", "b", "n.a", "n.b"], 2)
        change = self.random.choice([self._create, self._create, self._overwrite, self._drop, self._rename])
        with suppress(LanceNamespaceError):
            change(name, other)

    def _create(self, name: str, _: str) -> None:
        self.made.add(self.namespace.create_table(name, rows(0)).location)

    def _overwrite(self, name: str, _: str) -> None:
        number = self.random.randrange(10**9)
        self.namespace.create_table(name, rows(number), mode="overwrite", properties={"number": str(number)})

    def _drop(self, name: str, _: str) -> None:
        self.dropped.add(self.namespace.drop_table(name).location)

    def _rename(self, name: str, other: str) -> None:
        *parent, new = other.split(".")
        self.namespace.rename_table(name, new_table_name=new, new_namespace_id=parent)


def work(
    barrier: Barrier, folder: Path, backend: str, root: Path, seed: int, changes: int
) -> tuple[Locations, Locations]:
    """Change tables in this process; the locations that were created and dropped."""
    worker = Work(open_catalog(folder, backend, root), seed)
    barrier.wait()
    worker.act(changes)
    return worker.made, worker.dropped


def check_nothing_is_lost(namespace: Namespace, made: Locations, dropped: Locations) -> None:
    found = [location for location, _ in entries(namespace).values()]
    assert made
    assert len(found) == len(set(found))
    assert made - dropped <= set(found)
    for name in namespace.list_all_tables().tables:
        if namespace.describe_table(name.split("$"), check_declared=True).is_only_declared is False:
            assert len(ids(namespace, name.replace("$", "."))) == 1


@pytest.mark.parametrize(
    ("backend", "changes"), [(EIGHT, 15), (NINE, 15), pytest.param(NINE, 150, marks=pytest.mark.slow)]
)
def test_processes_lose_no_change(backend: str, changes: int, folder: Path, tmp_path: Path):
    namespace = open_catalog(folder, backend, tmp_path / "root")
    namespace.create_namespace("n")

    done = together(work, [(folder, backend, tmp_path / "root", seed, changes) for seed in range(3)])

    check_nothing_is_lost(namespace, set.union(*(made for made, _ in done)), set.union(*(gone for _, gone in done)))


@pytest.mark.parametrize(("backend", "changes"), [(NINE, 15), pytest.param(NINE, 150, marks=pytest.mark.slow)])
def test_threads_lose_no_change(backend: str, changes: int, folder: Path, tmp_path: Path):
    namespace = open_catalog(folder, backend, tmp_path / "root")
    namespace.create_namespace("n")
    workers = [Work(namespace, seed) for seed in range(4)]

    race(lambda who: workers[who].act(changes), threads=len(workers)).check_losers({})

    made, dropped = (set().union(*(getattr(worker, name) for worker in workers)) for name in ("made", "dropped"))
    check_nothing_is_lost(namespace, made, dropped)


def rename(namespace: Namespace) -> None:
    namespace.rename_table("n.t", new_table_name="u")


def overwrite(namespace: Namespace) -> None:
    namespace.create_table("n.t", rows(2), mode="overwrite", properties={"by": "me"})


def register(namespace: Namespace) -> None:
    location = namespace.describe_table("n.other").location
    namespace.deregister_table("n.other")
    namespace.register_table("n.t", location=location, mode="overwrite")


def drop(namespace: Namespace) -> None:
    namespace.drop_table("n.t")


def cascade(namespace: Namespace) -> None:
    namespace.drop_namespace("n", behavior="Cascade")


def create(namespace: Namespace) -> None:
    namespace.create_table("n.new", rows(3), properties={"by": "me"})


BEFORE = {"n.t": 0, "n.other": 1}
OUTCOMES: dict[Callable[[Namespace], None], list[dict[str, int]]] = {
    rename: [BEFORE, {"n.u": 0, "n.other": 1}],
    overwrite: [BEFORE, {"n.t": 2, "n.other": 1}],
    register: [BEFORE, {"n.t": 0}, {"n.t": 1}],
    drop: [BEFORE, {"n.other": 1}],
    cascade: [BEFORE, {"n.t": 0}, {"n.other": 1}, {}],
    create: [BEFORE, {**BEFORE, "n.new": 3}],
}
"""The tables, with the id of their row, that a change may leave when it is killed."""


def killed(change: Callable[[Namespace], None], folder: Path, root: Path) -> Iterator[Namespace]:
    """Run a change on catalogs of their own, killed at one write after the other, until it gets through."""
    for moment in count(1):
        process = Process(_run_killed, moment, change, folder, root / str(moment))
        with suppress(EOFError):
            process.result()
            return
        yield open_catalog(folder, NINE, root / str(moment))


def _run_killed(moment: int, change: Callable[[Namespace], None], folder: Path, root: Path) -> None:
    namespace = open_catalog(folder, NINE, root)
    namespace.create_namespace("n")
    for name, number in BEFORE.items():
        namespace.create_table(name, rows(number))
    Killer(moment).install()
    change(namespace)


@pytest.mark.parametrize(
    "change", [change if change is rename else pytest.param(change, marks=pytest.mark.slow) for change in OUTCOMES]
)
def test_a_killed_change_happened_or_not(change: Callable[[Namespace], None], folder: Path, tmp_path: Path):
    crashes = 0
    for namespace in killed(change, folder, tmp_path):
        crashes += 1
        with_data = namespace.list_all_tables(include_declared=False).tables
        names = [name.replace("$", ".") for name in with_data]
        assert {name: ids(namespace, name)[0] for name in names} in OUTCOMES[change]
        locations = [location for location, _ in entries(namespace).values()]
        assert len(locations) == len(set(locations))
        if change is create and "n.new" not in names:
            create(namespace)
            assert namespace.describe_table("n.new").properties == {"by": "me"}
        if change is cascade and list(namespace.namespaces()):
            cascade(namespace)
            assert list(namespace.namespaces()) == []
    assert crashes > 1

"""The worker dies in the middle of a write that has an Idempotency-Key; the request is sent again.

Every write of the table of operations is interrupted twice: before it has changed anything, and after, when only the
answer is missing. It happens at most once, and the repeat says what became of it wherever that can be known.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pytest
from lance_namespace import (
    InternalError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
)

from lancespace import Namespace, connect
from lancespace import _requests as requests
from lancespace.authoring import OPERATIONS, Operation, marking
from lancespace_server.failures import Failure
from lancespace_server.interruptions import Recovery, Unknown
from lancespace_tables import _appends as appends
from lancespace_tables import _creation as creation
from lancespace_testing import examples
from lancespace_testing.samples import COUNT, sample
from lancespace_testing.staging import stage_append
from lancespace_testing.waiting import until
from plugins.server.tests.acting import acting, policy, under
from plugins.server.tests.hosting import served

MOMENTS = ("before", "after")
WRITES = [row for row in OPERATIONS.values() if row.writes]
JOBS = {"alter_table_backfill_columns", "refresh_materialized_view"}
ANSWERED = {
    *("create_table", "insert_into_table", "create_table_version"),
    *("drop_namespace", "drop_table", "deregister_table"),
    *("drop_table_index", "delete_table_tag", "delete_table_branch"),
}
"""Writes that are known to have been carried out, although only the answer was lost."""

WRAPPER = '''
import os
import signal
from pathlib import Path

from lancespace.authoring import OperationWrapper, Property


class Killer(OperationWrapper):
    """Kills its process before or after the operation that a file names, and keeps a list of what was done."""

    properties = (Property("orders", "The file with the order", required=True),)

    def around(self, operation, request):
        orders = Path(self.connection.settings["killer.orders"])
        if operation.writes:
            self.kill(orders, f"{operation.name} before")
        answer = yield
        if operation.writes:
            with orders.with_suffix(".done").open("a") as done:
                done.write(f"{operation.name}\\n")
            self.kill(orders, f"{operation.name} after")
        return answer

    def kill(self, orders, moment):
        if orders.exists() and orders.read_text() == moment:
            orders.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
'''


class World(NamedTuple):
    """A catalog behind a server whose workers die to order."""

    url: str
    namespace: Namespace
    """Through the server, without repeats."""
    direct: Namespace
    orders: Path

    def done(self, operation: str) -> int:
        """How often the operation has been carried out."""
        lines = self.orders.with_suffix(".done")
        return lines.read_text().split().count(operation) if lines.exists() else 0

    def interrupt(self, call: Callable[[], Any], moment: str) -> None:
        """Have the worker of a request die."""
        self.orders.write_text(moment)
        with pytest.raises(ServiceUnavailableError):
            call()
        assert not self.orders.exists(), "no worker died"

    def repeat(self, call: Callable[[], Any]) -> Any:
        """The answer to a repeat, or its error; 503 is of a connection that the dead worker had."""

        def attempt() -> Any:
            try:
                return call()
            except LanceNamespaceError as error:
                return error

        return until(attempt, lambda answer: not isinstance(answer, ServiceUnavailableError))


def installed(folder: Path) -> dict[str, str]:
    """Install the wrapper into a folder, as pip would; the environment of a server that has it."""
    (folder / "killer_wrapper.py").write_text(WRAPPER)
    info = folder / "killer_wrapper-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: killer-wrapper\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lancespace.wrappers]\nkiller = killer_wrapper:Killer\n")
    return {"PYTHONPATH": str(folder)}


@contextmanager
def world_of(folder: Path, **properties: str) -> Iterator[World]:
    orders = folder / "orders"
    root = {"root": str(folder / "catalog"), **properties}
    given = {**root, "wrappers": "killer", "killer.orders": str(orders)}
    arguments = [f"{name}={value}" for name, value in given.items()]
    environment = installed(folder)
    with served(folder, "dir", *arguments, "--workers", "3", environment=environment) as server:
        client = {"uri": server.url, "retry.attempts": "1"}
        with connect("rest", client) as namespace, connect("dir", root) as direct:
            direct.create_table(examples.TABLE, sample())
            yield World(server.url, namespace, direct, orders)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_of(tmp_path_factory.mktemp("interruptions")) as world:
        yield world


def prepared(world: World, operation: Operation) -> Callable[[], Any]:
    """A request with a key for an object of its own, which can be sent again and again."""
    name = [f"o{uuid4().hex}"]
    for first in VIEWS.get(operation.name, examples.prerequisites(operation.name)):
        perform(world.direct, first, examples.fields(first, name))
    fields = examples.fields(operation.name, name)
    if operation.name in PREPARATIONS:
        fields |= PREPARATIONS[operation.name](world, name)
    context = {"header.Idempotency-Key": uuid4().hex}
    return lambda: perform(world.namespace, operation.name, {**fields, "context": context})


def perform(namespace: Namespace, operation: str, fields: dict[str, Any]) -> Any:
    return namespace.call(OPERATIONS[operation], None, examples.data(operation), **fields)


def _staged(world: World, name: list[str]) -> dict[str, Any]:
    location = world.direct.describe_table(name).location or ""
    return stage_append(world.direct.backend.connection.storage(location))


def _column(world: World, name: list[str]) -> dict[str, Any]:
    world.direct.alter_table_add_columns(name, new_columns=[{"name": "twice", "computed": "id * 2"}])
    return {"column": "twice"}


def _location(world: World, name: list[str]) -> dict[str, Any]:
    location = world.direct.deregister_table(name).location or ""
    return {"location": Path(location).name}


def _job(world: World, name: list[str]) -> dict[str, Any]:
    _column(world, name)
    job = world.namespace.alter_table_backfill_columns(name, column="twice").job_id
    until(lambda: world.namespace.describe_transaction([job]).status, lambda status: status == "SUCCEEDED")
    return {"id": [job], "actions": [{"setPropertyAction": {"key": "note", "value": "x", "mode": "FAIL"}}]}


def _second(world: World, name: list[str]) -> dict[str, Any]:
    return {"version": world.direct.insert_into_table(name, sample()).version}


VIEWS = {"create_materialized_view": (), "refresh_materialized_view": ("create_materialized_view",)}
PREPARATIONS: dict[str, Callable[[World, list[str]], dict[str, Any]]] = {
    "rename_table": lambda _, name: {"new_table_name": f"{name[0]}x"},
    "register_table": _location,
    "alter_table_backfill_columns": _column,
    "update_table_tag": _second,
    "create_table_version": _staged,
    "batch_create_table_versions": lambda world, name: {"entries": [{"id": name, **_staged(world, name)}]},
    "alter_transaction": _job,
}


_QUICK = {"insert_into_table", "update_table", "drop_table"}
SWEEP = pytest.mark.parametrize(
    "operation",
    [pytest.param(row, marks=() if row.name in _QUICK else pytest.mark.slow, id=row.name) for row in WRITES],
)


@SWEEP
def test_a_write_that_was_interrupted_before_it_began_is_carried_out_by_its_repeat(world: World, operation: Operation):
    call = prepared(world, operation)
    earlier = world.done(operation.name)

    world.interrupt(call, f"{operation.name} before")
    answer = world.repeat(call)

    if operation.name in JOBS:
        assert "may have started a job" in str(answer)
        assert world.done(operation.name) == earlier
    else:
        assert not isinstance(answer, Exception), answer
        assert world.done(operation.name) == earlier + 1
        assert as_told(call()) == as_told(answer)


@SWEEP
def test_a_write_whose_answer_was_lost_is_not_carried_out_again(world: World, operation: Operation):
    call = prepared(world, operation)
    earlier = world.done(operation.name)

    world.interrupt(call, f"{operation.name} after")
    answer = world.repeat(call)

    if operation.name in ANSWERED:
        assert not isinstance(answer, Exception), answer
        assert as_told(call()) == as_told(answer)
    else:
        assert isinstance(answer, InternalError), answer
        assert "Check whether the write was carried out" in str(answer)
        assert ("may have started a job" if operation.name in JOBS else "has changed since it began") in str(answer)
    repeats = int(operation.name == "create_table_version")  # What was staged becomes a version once.
    assert world.done(operation.name) == earlier + 1 + repeats


def test_another_body_with_the_key_of_a_write_that_was_interrupted_is_refused(world: World):
    name = [f"o{uuid4().hex}"]
    world.direct.create_table(name, sample())
    context = {"header.Idempotency-Key": uuid4().hex}

    def delete(predicate: str) -> Any:
        return world.namespace.delete_from_table(name, predicate=predicate, context=context)

    world.interrupt(lambda: delete("id = 1"), "delete_from_table before")
    refused = world.repeat(lambda: delete("true"))

    assert "was used for another request" in str(refused)
    assert world.direct.count_table_rows(name).count == COUNT


def as_told(answer: Any) -> Any:
    return answer.model_dump(exclude={"context"})


@pytest.mark.parametrize("moment", MOMENTS)
def test_our_client_repeats_a_write_whose_worker_died(world: World, moment: str):
    name = [f"o{uuid4().hex}"]
    world.direct.create_table(name, sample())
    world.orders.write_text(f"insert_into_table {moment}")
    with connect("rest", {"uri": world.url, "retry.attempts": "20", "retry.max_wait": "1"}) as namespace:
        answer = namespace.insert_into_table(name, sample())

    assert not world.orders.exists(), "no worker died"
    assert (answer.num_inserted_rows, answer.version) == (COUNT, 2)
    assert world.direct.count_table_rows(name).count == 2 * COUNT


# --- what can be known ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["stored", "managed"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    managed = {"table_version_management": "true"} if request.param == "managed" else {}
    with connect("dir", {"root": str(tmp_path / "catalog"), **managed}) as namespace:
        yield namespace


def recovery(namespace: Namespace, operation: str, **fields: Any) -> Recovery:
    row = OPERATIONS[operation]
    return Recovery(namespace, row, requests.build(row, None, fields), "POST /")


def outcome(recovery: Recovery, mark: str, before: str, began: float) -> dict[str, Any] | None:
    found = recovery.after(mark, began, before)
    return None if found is None else json.loads(found.body)


LARGE = pa.table({"id": pa.array(range(200_000), pa.int64())})


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("rows", [LARGE.slice(0, 3), LARGE], ids=["few", "many"])
@pytest.mark.parametrize("is_declared", [False, True], ids=["with data", "declared"])
def test_rows_are_found_among_those_of_others(catalog: Namespace, mode: str, rows: pa.Table, is_declared: bool):
    if is_declared:
        catalog.declare_table("t")
    else:
        catalog.create_table("t", LARGE.slice(0, 1))
    time.sleep(0.01)  # Versions have times in milliseconds.
    began, write = time.time(), recovery(catalog, "insert_into_table", id=["t"], mode=mode)
    before = write.before()
    assert outcome(write, "mine", before, began) is None
    if not is_declared:
        with marking("others"):
            catalog.insert_into_table("t", LARGE.slice(0, 2))
        assert outcome(write, "mine", before, began) is None
    with marking("mine"):
        done = catalog.insert_into_table("t", rows, mode=mode)
    with marking("others"):
        catalog.insert_into_table("t", LARGE.slice(0, 2))
    catalog.delete_from_table("t", predicate="id = 1")

    told = outcome(write, "mine", before, began)
    assert told is not None
    assert told["version"] == done.version
    assert told.get("num_inserted_rows", done.num_inserted_rows) == done.num_inserted_rows


def test_rows_that_share_a_commit_are_all_found(catalog: Namespace):
    catalog.create_table("t", LARGE.slice(0, 1))
    began = time.time()

    def insert(number: int) -> None:
        with marking(f"m{number}"):
            catalog.insert_into_table("t", LARGE.slice(0, number + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(insert, range(8)))
    write = recovery(catalog, "insert_into_table", id=["t"])
    told = [outcome(write, f"m{number}", write.before(), began) for number in range(8)]
    assert [each and each["num_inserted_rows"] for each in told] == list(range(1, 9))


def test_rows_are_found_after_their_fragment_was_merged_with_others(
    catalog: Namespace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(appends, "INTERVAL", 4)
    catalog.create_table("t", LARGE.slice(0, 1))
    began, write = time.time(), recovery(catalog, "insert_into_table", id=["t"])
    before = write.before()
    with marking("mine"):
        done = catalog.insert_into_table("t", LARGE.slice(0, 3))
    for _ in range(8):
        catalog.insert_into_table("t", LARGE.slice(0, 1))

    assert len(catalog.table("t").dataset().get_fragments()) < 8
    told = outcome(write, "mine", before, began)
    assert told == {"num_inserted_rows": 3, "version": done.version}


@pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
def test_tables_are_found_by_who_created_them(catalog: Namespace, mode: str):
    began, write = time.time(), recovery(catalog, "create_table", id=["t"], mode=mode, properties={"p": "q"})
    before = write.before()
    if mode == "overwrite":
        catalog.create_table("t", LARGE.slice(0, 1))
    with marking("mine"):
        done = catalog.create_table("t", LARGE.slice(0, 2), mode=mode, properties={"p": "q"})
    catalog.insert_into_table("t", LARGE.slice(0, 1))

    told = outcome(write, "mine", before, began)
    assert told is not None
    assert told["properties"]["p"] == "q"
    assert (told["version"], told["location"]) == (done.version, done.location)


@pytest.mark.parametrize(("mode", "step"), [("create", "merge_properties"), ("overwrite", "replace_properties")])
def test_a_table_whose_properties_were_not_set_any_more_is_not_reported_as_done(
    catalog: Namespace, mode: str, step: str, monkeypatch: pytest.MonkeyPatch
):
    catalog.declare_table("t") if mode == "create" else catalog.create_table("t", LARGE.slice(0, 1))
    write = recovery(catalog, "create_table", id=["t"], mode=mode, properties={"p": "q"})
    began, before = time.time(), write.before()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(creation if mode == "create" else catalog.backend, step, die)
    with marking("mine"), pytest.raises(KeyboardInterrupt):
        catalog.create_table("t", LARGE.slice(0, 2), mode=mode, properties={"p": "q"})

    with pytest.raises(Unknown, match="whether its properties were set"):
        write.after("mine", began, before)


def test_a_table_that_another_caller_created_is_not_taken_for_ours(catalog: Namespace):
    began, write = time.time(), recovery(catalog, "create_table", id=["t"])
    before = write.before()
    catalog.create_table("t", LARGE.slice(0, 2))
    assert outcome(write, "mine", before, began) is None


def test_it_is_not_known_whether_rows_went_into_a_table_that_was_replaced(catalog: Namespace):
    catalog.create_table("t", LARGE.slice(0, 2))
    began, write = time.time(), recovery(catalog, "insert_into_table", id=["t"])
    before = write.before()
    catalog.drop_table("t")
    time.sleep(0.01)
    catalog.create_table("t", LARGE.slice(0, 2))
    with pytest.raises(Unknown):
        write.after("mine", began, before)


def test_another_request_with_the_key_of_an_interrupted_one_is_refused(catalog: Namespace):
    row = OPERATIONS["drop_table"]
    first, second = (Recovery(catalog, row, requests.build(row, [name], {}), f"POST /{name}") for name in "ab")
    with pytest.raises(Failure, match="was used for another request"):
        second.after("mine", time.time(), first.before())


def test_only_callers_that_may_write_learn_what_became_of_a_write(tmp_path: Path):
    namespace = under(policy(tmp_path, bob=("admin", "t"), eve=("read", "t")), "dir", root=str(tmp_path / "catalog"))
    with acting("root"):
        namespace.create_table("t", LARGE.slice(0, 2))
    write = recovery(namespace, "drop_table", id=["t"])
    with acting("bob"):  # Who may not read it.
        before = write.before()
        assert write.after("mine", time.time(), before) is None
    with acting("eve"):
        with pytest.raises(PermissionDeniedError):
            write.before()
        with pytest.raises(PermissionDeniedError):
            write.after("mine", time.time(), before)


def test_a_server_of_another_server_cannot_know(world: World):
    with connect("rest", {"uri": world.url}) as remote:
        write = recovery(remote, "insert_into_table", id=["t"])
        with pytest.raises(Unknown, match="by the server behind this one"):
            write.after("mine", time.time(), write.before())

"""Processes that are forked by one that has used a namespace, as loaders of PyTorch are on Linux.

Each parent is a process of its own, which has used nothing before.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import LanceNamespaceError, UnsupportedOperationError

import lancespace_jobs as jobs
from lancespace import Namespace, connect
from lancespace._table import Table
from plugins.dir.tests.processes import Process
from plugins.server.tests.hosting import catalog_url, hosted

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

SECONDS = 30
"""After so many a child is ended by an alarm; one that hangs fails the test."""
REFUSED = "UnsupportedOperationError: Lance does not work in a forked process"
ROWS = pa.table({"id": range(10)})


def forked(act: Callable[[], object]) -> str:
    """What a function answers in a child, or its error; the child ends as a script does, with all its exit handlers."""
    receiver, sender = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pylance warns of every fork.
        child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            try:
                answer = str(act())
            except LanceNamespaceError as error:
                answer = f"{type(error).__name__}: {error}"
            os.write(sender, answer.encode())
            atexit._run_exitfuncs()
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as file:
        answer = file.read()
    _, status = os.waitpid(child, 0)
    assert not os.WIFSIGNALED(status), f"the child was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return answer


def in_parent(act: Callable[..., None], *arguments: object) -> None:
    Process(act, *arguments).result()


def used(root: Path) -> Namespace:
    namespace = connect("dir", {"root": str(root)})
    namespace.create_table("t", ROWS)
    assert namespace.table("t").to_arrow().num_rows == ROWS.num_rows
    return namespace


@contextmanager
def busy(namespace: Namespace) -> Iterator[None]:
    """Threads of the parent are at work while the block forks."""
    is_over = threading.Event()

    def work() -> None:
        while not is_over.is_set():
            namespace.table("t").to_arrow()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def check_directory(root: Path) -> None:
    namespace = used(root)
    table = namespace.table("t")
    acts: Sequence[Callable[[], object]] = (
        lambda: list(namespace.tables()),
        lambda: namespace.create_namespace("a"),
        lambda: namespace.insert_into_table("t", ROWS),
        table.dataset,
        lambda: list(connect("dir", {"root": str(root)}).tables()),
        lambda: jobs.compact(namespace, "t"),
        lambda: namespace.sql("SELECT 1 FROM t"),
        lambda: forked(lambda: list(namespace.tables())),
    )
    with busy(namespace):
        for act in acts:
            assert REFUSED in forked(act)
    namespace.insert_into_table("t", ROWS)
    assert (list(namespace.namespaces()), table.count()) == ([], 2 * ROWS.num_rows)


def test_a_directory_is_refused_at_once(tmp_path: Path):
    in_parent(check_directory, tmp_path)


def check_unused(root: Path) -> None:
    namespace = connect("dir", {"root": str(root)})

    assert forked(lambda: namespace.create_table("t", ROWS).version) == "1"
    assert namespace.table("t").count() == ROWS.num_rows


def test_what_was_not_used_before_the_fork_works(tmp_path: Path):
    in_parent(check_unused, tmp_path)


def check_lance_alone(root: Path) -> None:
    lance.write_dataset(ROWS, root / "t.lance")
    namespace = connect("dir", {"root": str(root)})

    assert REFUSED in forked(lambda: namespace.create_table("u", ROWS))
    assert REFUSED in forked(lambda: forked(lambda: list(namespace.tables())))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not show the threads of a process")
def test_a_parent_that_used_lance_without_a_namespace(tmp_path: Path):
    in_parent(check_lance_alone, tmp_path)


def check_memory() -> None:
    namespace = connect("memory")
    namespace.create_table("t", ROWS)

    assert REFUSED in forked(lambda: namespace.table("t").count())
    assert forked(namespace.close) == "None"
    assert namespace.table("t").count() == ROWS.num_rows


def test_a_child_deletes_nothing_of_its_parent():
    in_parent(check_memory)


def check_pickles(root: Path) -> None:
    namespace = used(root)

    name, properties = namespace.connection_args()
    assert forked(namespace.connection_args) == str((name, properties))


def test_a_child_can_still_send_the_namespace_on(tmp_path: Path):
    in_parent(check_pickles, tmp_path)


def check_client(url: str) -> None:
    namespace = connect("rest", {"uri": url})
    namespace.create_namespace("a")
    with namespace:
        answers = [forked(lambda: list(namespace.namespaces())) for _ in range(3)]
        assert answers == ["['a']"] * 3
        assert forked(lambda: forked(lambda: namespace.create_namespace("b").properties)) == "{}"
        assert forked(namespace.close) == "None"
        assert list(namespace.namespaces()) == ["a", "b"]
        table = namespace.table("t")
        namespace.create_table("t", ROWS)
        assert forked(table.count) == str(ROWS.num_rows)
        table.dataset()
        assert REFUSED in forked(table.dataset)


def check_sql(url: str) -> None:
    with connect("rest", {"uri": url}) as namespace:
        assert namespace.sql("SELECT 1 AS x").read_all()["x"].to_pylist() == [1]
        assert REFUSED in forked(lambda: namespace.sql("SELECT 1 AS x").read_all())


def test_sql_of_a_client_is_refused(tmp_path: Path):
    with hosted(tmp_path) as server:
        in_parent(check_sql, catalog_url(server, tmp_path / "catalog"))


def test_a_client_of_a_server_makes_new_connections(tmp_path: Path):
    with hosted(tmp_path) as server:
        in_parent(check_client, catalog_url(server, tmp_path / "catalog"))


class Rows:
    """A data set as loaders want it: rows by number."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __getitem__(self, number: int) -> Any:
        return self.table.dataset().take([number])["id"][0].as_py()


def load(rows: Rows, method: str) -> list[int]:
    """As a loader does: workers that get numbers, and give rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with multiprocessing.get_context(method).Pool(2) as pool:
            return pool.map_async(rows.__getitem__, [3, 0, 7]).get(SECONDS)


def check_loader(root: Path) -> None:
    rows = Rows(used(root).table("t"))

    assert load(rows, "spawn") == [3, 0, 7]
    with pytest.raises(UnsupportedOperationError, match=r'set_start_method\("spawn"\)'):
        load(rows, "fork")


def test_a_loader_works_with_spawn_and_says_so_with_fork(tmp_path: Path):
    in_parent(check_loader, tmp_path)

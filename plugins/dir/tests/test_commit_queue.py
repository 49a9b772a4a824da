"""Turns are for speed: they end when nobody goes on with them, and nobody waits for one that does not end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from lancespace_dir.manifest import commit_queue
from lancespace_dir.manifest.commit_queue import CommitQueue
from lancespace_testing.waiting import until
from plugins.dir.tests.manifests import manifest_at, put, rows, storage_at
from plugins.dir.tests.processes import Process


def is_free(root: Path) -> bool:
    with CommitQueue(storage_at(root), "commit").try_acquire() as free:
        return free


def test_turn_waits_for_more_commits_and_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mine = CommitQueue(storage_at(tmp_path), "commit")
    with mine.acquire():
        assert not is_free(tmp_path)
    until(lambda: is_free(tmp_path), bool)

    monkeypatch.setattr(commit_queue, "IDLE", 30.0)
    with mine.acquire():
        pass
    assert not is_free(tmp_path)
    mine.close()


def test_turn_is_given_back_at_once_when_a_client_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_queue, "IDLE", 30.0)
    manifest = manifest_at(tmp_path)
    put(manifest, "x")
    assert not is_free(tmp_path)

    manifest.close()

    assert is_free(tmp_path)


def test_turn_ends_after_so_many_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_queue, "IDLE", 30.0)
    monkeypatch.setattr(commit_queue, "LONGEST_TURN", 30.0)
    mine = CommitQueue(storage_at(tmp_path), "commit")
    for _ in range(commit_queue.MOST_COMMITS):
        assert mine._turn is None or not is_free(tmp_path)
        with mine.acquire():
            pass

    assert is_free(tmp_path)


def test_two_clients_of_one_process_take_turns(tmp_path: Path):
    clients = [manifest_at(tmp_path), manifest_at(tmp_path)]
    put(clients[0], "x")

    def work(number: int) -> None:
        for count in range(30):
            put(clients[number], f"n{number}x{count}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(rows(tmp_path)) == 61


def files(root: Path) -> list[str]:
    """What there is of a catalog in the temporary directory."""
    path = CommitQueue(storage_at(root), "commit")._path
    assert path is not None
    return sorted(found.name for found in path.parent.glob(f"{path.name.rpartition('-')[0]}-*"))


def test_the_last_one_to_leave_deletes_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_queue, "IDLE", 30.0)
    clients = [manifest_at(tmp_path), manifest_at(tmp_path)]
    put(clients[0], "x")
    with clients[0]._processes._state:
        clients[0]._processes._end()
    put(clients[1], "y")
    clients[0].close()
    assert len(files(tmp_path)) == 2

    clients[1].close()

    assert files(tmp_path) == []
    put(clients[0], "z")
    assert len(rows(tmp_path)) == 3
    clients[0].close()


def test_who_commits_no_more_leaves_without_being_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_queue, "KEEPER_STAYS", 0.01)
    put(manifest_at(tmp_path), "x")
    until(lambda: files(tmp_path), lambda found: not found)


def test_the_lock_of_a_deleted_file_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.lock"
    first = commit_queue._lock(path, wait=True)
    opened, open_file = threading.Event(), commit_queue._open
    waiting: Future[IO[bytes] | None] = Future()

    def noting(path: Path) -> IO[bytes] | None:
        file = open_file(path)
        opened.set()
        return file

    monkeypatch.setattr(commit_queue, "_open", noting)
    threading.Thread(target=lambda: waiting.set_result(commit_queue._lock(path, wait=True))).start()
    assert first is not None
    assert opened.wait(30)
    path.unlink()
    second = commit_queue._lock(path, wait=False)
    assert second is not None
    first.close()  # Whoever waits gets this one first.
    assert not waiting.done()
    second.close()

    third = waiting.result(30)
    assert third is not None
    with third, pytest.raises(BlockingIOError):
        commit_queue._lock(path, wait=False)


def test_nobody_shares_a_turn_while_others_come_and_leave(tmp_path: Path):
    inside: list[int] = []

    def come_and_leave(number: int) -> int:
        most = 0
        for _ in range(50):
            mine = CommitQueue(storage, "commit")
            with mine.acquire():
                inside.append(number)
                most = max(most, len(inside))
                inside.remove(number)
            mine.close()
        return most

    storage = storage_at(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(come_and_leave, range(4))) == [1] * 4
    assert files(tmp_path) == []


def hold(root: Path) -> None:
    """Be stopped in the middle of a turn."""
    with CommitQueue(storage_at(root), "commit").acquire():
        os.kill(os.getpid(), signal.SIGSTOP)


def test_nobody_waits_for_a_process_that_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_queue, "PATIENCE", 0.2)
    stopped = Process(hold, tmp_path)
    try:
        until(lambda: is_free(tmp_path), lambda free: not free)
        manifest = manifest_at(tmp_path)
        for number in range(20):
            put(manifest, f"n{number}")
    finally:
        stopped.end()

    assert len(rows(tmp_path)) == 20
    put(manifest, "after")
    assert len(rows(tmp_path)) == 21


def hold_and_fork(root: Path, moment: str) -> bool:
    """Fork a child that goes on, while this process has a turn; whether the turn ends with this process's use of it."""
    mine = CommitQueue(storage_at(root), "commit")
    with mine.acquire():
        wakes, wake = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(wake)
            if moment == "exit":
                commit_queue._close_all()
            os.read(wakes, 1)
            os._exit(0)
        os.close(wakes)
        kept = not is_free(root)
    mine.close()
    freed = is_free(root)
    os.close(wake)
    os.waitpid(child, 0)
    return kept and freed


@pytest.mark.parametrize("moment", ["life", "exit"])
def test_a_forked_child_neither_ends_nor_prolongs_a_turn(tmp_path: Path, moment: str):
    assert Process(hold_and_fork, tmp_path, moment).result()


def hold_and_die(root: Path) -> int:
    """Leave a child behind that was forked while this process had a turn."""
    mine = CommitQueue(storage_at(root), "commit")
    with mine.acquire():
        child = os.fork()
        if child == 0:
            signal.pause()
        return child


def test_a_turn_ends_with_its_process_although_a_child_lives_on(tmp_path: Path):
    child = Process(hold_and_die, tmp_path).result()

    try:
        until(lambda: is_free(tmp_path), bool)
    finally:
        os.kill(child, signal.SIGKILL)


WITHOUT_LOCKS = """
import sys
from concurrent.futures import ThreadPoolExecutor

sys.modules["fcntl"] = None
import lancespace
import lancespace_dir
from lancespace_dir.manifest import commit_queue

assert not commit_queue.HAS_LOCKS
clients = [lancespace.connect("dir", {"root": sys.argv[1]}) for _ in range(4)]

def work(number):
    for count in range(10):
        clients[number].create_namespace(f"n{number}x{count}")

with ThreadPoolExecutor(4) as pool:
    list(pool.map(work, range(4)))
assert len(list(clients[0].namespaces())) == 40
for client in clients:
    client.close()
"""


def test_without_locks_between_processes_commits_race(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS, str(tmp_path / "lake")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert len(rows(tmp_path / "lake")) == 40

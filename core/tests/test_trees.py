from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from lancespace._storage.objects import BATCHES_AT_ONCE, delete_in_batches


def test_only_the_batches_under_way_are_in_memory():
    listed, deleted, most = 0, 0, 0
    lock = threading.Lock()

    def listing() -> Iterator[str]:
        nonlocal listed, most
        for number in range(10_000):
            with lock:
                listed += 1
                most = max(most, listed - deleted)
            yield str(number)

    def delete(batch: list[str]) -> None:
        nonlocal deleted
        with lock:
            deleted += len(batch)

    delete_in_batches(listing(), 100, delete)

    assert deleted == 10_000
    assert most <= 100 * (BATCHES_AT_ONCE + 1)


def test_batches_go_at_once():
    meet = threading.Barrier(BATCHES_AT_ONCE, timeout=30)

    def delete(_: list[str]) -> None:
        meet.wait()

    delete_in_batches(map(str, range(BATCHES_AT_ONCE)), 1, delete)


def test_the_last_goes_last():
    batches: list[list[str]] = []
    delete_in_batches(["a", "mark", "b", "c"], 2, batches.append, last="mark")
    assert sorted(batches[:-1]) == [["a", "b"], ["c"]]
    assert batches[-1] == ["mark"]


def test_nothing_is_held_back_that_is_not_there():
    batches: list[list[str]] = []
    delete_in_batches(["a"], 2, batches.append, last="mark")
    assert batches == [["a"]]


def test_a_failure_is_raised_and_the_last_stays():
    deleted: list[str] = []

    def delete(batch: list[str]) -> None:
        if "5" in batch:
            raise PermissionError("not this one")
        deleted.extend(batch)

    with pytest.raises(PermissionError, match="not this one"):
        delete_in_batches(map(str, range(1000)), 1, delete, last="0")
    assert "0" not in deleted
    assert len(deleted) < 1000

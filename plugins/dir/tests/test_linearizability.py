"""Concurrent clients of one catalog see one history: threads and processes of both implementations."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import (
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

from plugins.dir.tests import processes
from plugins.dir.tests.histories import CREATE, DROP, EXISTS, NEVER, Call, is_linearizable
from plugins.dir.tests.support import OURS, PYLANCE, Client, Id

NAMES = ("a", "b", "c")
THREADS = 3
CALLS = 25
KINDS: dict[str, tuple[Id, dict[str, str]]] = {
    "namespaces": ((), {CREATE: "create_namespace", DROP: "drop_namespace", EXISTS: "describe_namespace"}),
    "root tables": ((), {CREATE: "declare", DROP: "drop", EXISTS: "describe"}),
    "child tables": (("parent",), {CREATE: "declare", DROP: "deregister", EXISTS: "describe"}),
}
"""The parent of the names, and what is called."""

_ANSWERS = (NamespaceAlreadyExistsError, NamespaceNotFoundError, TableAlreadyExistsError, TableNotFoundError)


def call(client: Client, kind: str, action: str, name: str) -> Call:
    """One call and its answer; an error that says nothing of the name leaves open what happened.

    So does a change that pylance calls a success: of two who drop a namespace at once, it tells both that they did.
    """
    parent, methods = KINDS[kind]
    start = time.monotonic_ns()
    answer: bool | None = None if client.who == PYLANCE and action != EXISTS else True
    try:
        getattr(client, methods[action])((*parent, name))
    except _ANSWERS:
        answer = False
    except LanceNamespaceError:
        return Call(action, None, start, NEVER)
    return Call(action, answer, start, time.monotonic_ns())


def record(barrier: Any, who: str, root: Path, kind: str, seed: int) -> list[tuple[str, Call]]:
    """What several threads of one client did and saw, in a process of its own."""
    client = Client(who, root)
    calls: list[tuple[str, Call]] = []

    def act(thread: int) -> None:
        dice = random.Random(seed * 100 + thread)
        for _ in range(CALLS):
            name, action = dice.choice(NAMES), dice.choice((CREATE, DROP, EXISTS, EXISTS))
            calls.append((name, call(client, kind, action, name)))

    barrier.wait()
    threads = [threading.Thread(target=act, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    return calls


@pytest.mark.parametrize(
    ("kind", "clients"),
    [pytest.param(kind, [OURS] * 3, id=f"{kind}-ours+ours+ours") for kind in KINDS]
    + [pytest.param("namespaces", [OURS, OURS, PYLANCE], id="namespaces-ours+ours+pylance")],
)
def test_concurrent_histories_are_linearizable(tmp_path: Path, kind: str, clients: list[str]):
    Client(OURS, tmp_path).create_namespace(("parent",))
    recorded = processes.together(record, [(who, tmp_path, kind, seed) for seed, who in enumerate(clients)])
    histories: dict[str, list[Call]] = defaultdict(list)
    for name, one in (pair for pairs in recorded for pair in pairs):
        histories[name].append(one)

    assert sum(map(len, histories.values())) == len(clients) * THREADS * CALLS
    assert any(one.action == CREATE and one.answer for history in histories.values() for one in history)
    for name, history in histories.items():
        assert is_linearizable(history), f"{name}: {sorted(history, key=lambda one: one.start)}"


def test_the_checker_accepts_what_can_be_explained():
    assert is_linearizable([Call(CREATE, True, 0, 10), Call(EXISTS, False, 1, 9), Call(EXISTS, True, 11, 12)])
    assert is_linearizable([Call(CREATE, True, 0, 10), Call(CREATE, False, 0, 10), Call(DROP, True, 11, 12)])
    assert is_linearizable([Call(CREATE, None, 0, NEVER), Call(EXISTS, False, 5, 6), Call(EXISTS, True, 7, 8)])


@pytest.mark.parametrize(
    "history",
    [
        [Call(CREATE, True, 0, 1), Call(EXISTS, False, 2, 3)],
        [Call(CREATE, True, 0, 1), Call(CREATE, True, 0, 1)],
        [Call(DROP, True, 0, 1)],
        [Call(CREATE, True, 0, 1), Call(DROP, True, 2, 3), Call(EXISTS, True, 4, 5)],
        [Call(CREATE, True, 0, 9), Call(EXISTS, True, 1, 2), Call(EXISTS, False, 3, 4)],
        [Call(CREATE, None, 0, NEVER), Call(EXISTS, True, 1, 2), Call(EXISTS, False, 3, 4)],
    ],
    ids=["stale read", "two winners", "drop of nothing", "back from the dead", "seen, then not", "undone"],
)
def test_the_checker_refuses_what_cannot(history: list[Call]):
    assert not is_linearizable(history)

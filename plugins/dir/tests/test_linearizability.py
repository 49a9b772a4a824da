"""Concurrent clients of one catalog see one history: threads and processes of both implementations."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest
from lance_namespace import (
    CreateNamespaceRequest,
    DropNamespaceRequest,
    LanceNamespace,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceExistsRequest,
    NamespaceNotFoundError,
)

from plugins.dir.tests.histories import CREATE, DROP, EXISTS, NEVER, Call, is_linearizable
from plugins.dir.tests.support import OURS, PYLANCE, connect

NAMES = ("a", "b", "c")
THREADS = 3
CALLS = 25
_REQUESTS = {CREATE: CreateNamespaceRequest, DROP: DropNamespaceRequest, EXISTS: NamespaceExistsRequest}
_METHODS = {CREATE: "create_namespace", DROP: "drop_namespace", EXISTS: "namespace_exists"}


def call(namespace: LanceNamespace, who: str, action: str, name: str) -> Call:
    """One call and its answer; an error that says nothing of the name leaves open what happened.

    So does a change that pylance calls a success: of two who drop a namespace at once, it tells both that they did.
    """
    start = time.monotonic_ns()
    answer: bool | None = None if who == PYLANCE and action != EXISTS else True
    try:
        getattr(namespace, _METHODS[action])(_REQUESTS[action](id=[name]))
    except (NamespaceAlreadyExistsError, NamespaceNotFoundError):
        answer = False
    except LanceNamespaceError:
        return Call(action, None, start, NEVER)
    return Call(action, answer, start, time.monotonic_ns())


def record(who: str, root: Path, seed: int) -> list[tuple[str, Call]]:
    """What several threads of one client did and saw."""
    namespace = connect(who, root)
    calls: list[tuple[str, Call]] = []

    def act(thread: int) -> None:
        dice = random.Random(seed * 100 + thread)
        for _ in range(CALLS):
            name, action = dice.choice(NAMES), dice.choice((CREATE, DROP, EXISTS, EXISTS))
            calls.append((name, call(namespace, who, action, name)))

    threads = [threading.Thread(target=act, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return calls


@pytest.mark.parametrize("clients", [[OURS, OURS, OURS], [OURS, OURS, PYLANCE]], ids="+".join)
def test_concurrent_histories_are_linearizable(tmp_path: Path, clients: list[str]):
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "plugins.dir.tests.test_linearizability", who, str(tmp_path), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed, who in enumerate(clients)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    histories: dict[str, list[Call]] = defaultdict(list)
    for child in children:
        output, _ = child.communicate(timeout=120)
        for name, *fields in json.loads(output):
            histories[name].append(Call(*fields))

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


if __name__ == "__main__":
    connect(sys.argv[1], Path(sys.argv[2]))  # Imports take a second; all begin after that.
    print("ready", flush=True)  # noqa: T201 - to the test
    sys.stdin.readline()
    found = record(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps([[name, one.action, one.answer, one.start, one.end] for name, one in found]))  # noqa: T201

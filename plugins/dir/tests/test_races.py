"""Processes and threads of both implementations at the same names at once: one winner each, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import lance
import pytest
from lance.fragment import write_fragments

from lancespace_dir.manifest.schema import NAMESPACE, SCHEMA, Entry, to_table
from plugins.dir.tests import processes
from plugins.dir.tests.support import MANIFEST, OK, OURS, PYLANCE, Client, Id, manifest_table, outcome, rows

NAMES = [f"n{number}" for number in range(12)]
TAKEN = {"NamespaceAlreadyExists", "TableAlreadyExists"}
BUSY = {"ConcurrentModification", "Internal", "Throttling"}
"""What pylance answers when others were faster too often; nothing has happened then."""

Wins = dict[str, list[str]]


def race(barrier: Any, who: str, root: Path, operation: str, names: list[Id]) -> list[str]:
    """Do an operation on every name, in a process of its own, and say how each went."""
    client = Client(who, root)
    barrier.wait()
    outcomes = [outcome(lambda names=names: getattr(client, operation)(names)) for names in names]  # type: ignore[misc]
    client.close()
    return outcomes


def run(root: Path, whos: list[str], operation: str, names: list[Id]) -> list[list[str]]:
    """The outcomes of every process; half of them go through the names backwards."""
    orders = [names if number % 2 == 0 else names[::-1] for number in range(len(whos))]
    answers = processes.together(
        race, [(who, root, operation, order) for who, order in zip(whos, orders, strict=True)]
    )
    return [answer if number % 2 == 0 else answer[::-1] for number, answer in enumerate(answers)]


@pytest.mark.parametrize("whos", [[OURS] * 4, [OURS, PYLANCE] * 2], ids=["ours", "both"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "old"])
def test_creating_namespaces(tmp_path: Path, whos: list[str], *, is_new: bool):
    if not is_new:
        Client(OURS, tmp_path).create_namespace(("before",))

    outcomes = run(tmp_path, whos, "create_namespace", [(name,) for name in NAMES])

    for name, found in zip(NAMES, zip(*outcomes, strict=True), strict=True):
        assert Counter(found)[OK] == 1, (name, found)
        assert set(found) <= {OK, *TAKEN, *BUSY}, (name, found)
    assert rows(tmp_path).keys() == {*NAMES, *([] if is_new else ["before"])}
    for who in (OURS, PYLANCE):
        assert set(Client(who, tmp_path).namespaces()) >= set(NAMES)


@pytest.mark.parametrize("whos", [[OURS] * 4, [OURS, PYLANCE] * 2], ids=["ours", "both"])
@pytest.mark.parametrize("parent", [(), ("a",)], ids=["root", "child"])
@pytest.mark.parametrize("operation", ["declare", "create_table"])
def test_entering_tables(tmp_path: Path, whos: list[str], parent: Id, operation: str):
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    names = [(*parent, name) for name in NAMES]

    outcomes = run(tmp_path, whos, operation, names)

    for table, found in zip(names, zip(*outcomes, strict=True), strict=True):
        assert Counter(found)[OK] == 1, (table, found)
        assert set(found) <= {OK, *TAKEN, *BUSY}, (table, found)
        assert ours.is_only_declared(table) == (operation == "declare")
    assert rows(tmp_path).keys() == {"a", *("$".join(table) for table in names)}

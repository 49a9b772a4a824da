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
from lance_namespace import CountTableRowsRequest

from lancespace_dir.manifest.schema import NAMESPACE, SCHEMA, Entry, to_table
from lancespace_testing.samples import COUNT
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
    answers = processes.together(race, [(who, root, operation, order) for who, order in zip(whos, orders, strict=True)])
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


@pytest.mark.parametrize("parent", [(), ("a",)], ids=["root", "child"])
@pytest.mark.parametrize(
    ("whos", "operation"),
    [([OURS] * 4, "declare"), ([OURS, PYLANCE] * 2, "declare"), ([OURS] * 4, "create_table")],
    ids=["ours-declare", "both-declare", "ours-create"],
)
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


@pytest.mark.parametrize("parent", [(), ("a",)], ids=["root", "child"])
def test_creating_tables_beside_pylance(tmp_path: Path, parent: Id):
    """pylance writes the first version without a lock and may overwrite another's; but nothing is lost or repeated."""
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    names = [(*parent, name) for name in NAMES]

    run(tmp_path, [OURS, PYLANCE] * 2, "create_table", names)

    assert rows(tmp_path).keys() == {"a", *("$".join(table) for table in names)}
    for client in (ours, Client(PYLANCE, tmp_path)):
        for table in names:
            assert client.namespace.count_table_rows(CountTableRowsRequest(id=list(table))).count == COUNT


@pytest.mark.parametrize("whos", [[OURS] * 4, [OURS, PYLANCE] * 2], ids=["ours", "both"])
@pytest.mark.parametrize("parent", [(), ("a",)], ids=["root", "child"])
def test_dropping_tables(tmp_path: Path, whos: list[str], parent: Id):
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    names = [(*parent, name) for name in NAMES]
    for table in names:
        ours.declare(table)

    outcomes = run(tmp_path, whos, "drop", names)

    for table, found in zip(names, zip(*outcomes, strict=True), strict=True):
        winners = [who for who, answer in zip(whos, found, strict=True) if answer == OK]
        assert winners, (table, found)
        assert winners.count(OURS) <= 1, (table, found)  # pylance may tell several that they did it.
        assert set(found) <= {OK, "TableNotFound", *BUSY}, (table, found)
    assert rows(tmp_path).keys() == {"a"}
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def churn(barrier: Any, who: str, root: Path, steps: list[tuple[str, tuple[Id, ...]]]) -> Wins:
    """Do many operations as they come, and count those that succeeded."""
    client = Client(who, root)
    barrier.wait()
    wins: Wins = {}
    for operation, arguments in steps:
        if outcome(lambda: getattr(client, operation)(*arguments)) == OK:  # noqa: B023 - called at once
            wins.setdefault("$".join(arguments[-1]), []).append(operation)
    client.close()
    return wins


@pytest.mark.parametrize(
    ("whos", "enter", "remove", "parent"),
    [
        ([OURS] * 4, "create_namespace", "drop_namespace", ()),
        ([OURS] * 4, "declare", "drop", ()),
        ([OURS] * 4, "declare", "drop", ("a",)),
        ([OURS] * 4, "declare", "deregister", ()),
        ([OURS] * 4, "declare", "deregister", ("a",)),
        ([OURS, PYLANCE] * 2, "create_namespace", "drop_namespace", ()),
        ([OURS, PYLANCE] * 2, "declare", "drop", ("a",)),
        ([OURS, PYLANCE] * 2, "declare", "deregister", ("a",)),
    ],
)
def test_creating_against_dropping(tmp_path: Path, whos: list[str], enter: str, remove: str, parent: Id):
    """Of every name, as many were created as dropped, and one more if it is there in the end.

    pylance only creates, and no root tables: of its droppers several succeed at once, and for root tables it goes by
    what is in the directory.
    """
    Client(OURS, tmp_path).create_namespace(("a",))
    names = [(*parent, name) for name in ("x", "y")]
    steps = {
        who: [(operation, (name,)) for _ in range(8) for name in names for operation in operations]
        for who, operations in ((OURS, (enter, remove)), (PYLANCE, (enter, enter)))
    }

    won = processes.together(churn, [(who, tmp_path, steps[who]) for who in whos])

    ours = Client(OURS, tmp_path)
    for name in names:
        counts = Counter(operation for wins in won for operation in wins.get("$".join(name), []))
        is_there = ours.has_namespace(name) if enter == "create_namespace" else ours.has_table(name)
        assert counts[enter] - counts[remove] == is_there, (name, counts)
        assert counts[enter] > 0


@pytest.mark.parametrize("parent", [(), ("a",)], ids=["root", "child"])
def test_creating_with_data_against_dropping(tmp_path: Path, parent: Id):
    """A table that is created is whole, whoever dropped another of its name meanwhile."""
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    table = (*parent, "x")
    steps = [(operation, (table,)) for _ in range(10) for operation in ("create_table", "drop")]

    won = processes.together(churn, [(OURS, tmp_path, steps)] * 4)

    assert sum(len(wins.get("$".join(table), [])) for wins in won) > 20
    assert outcome(lambda: ours.create_table(table)) in {OK, "TableAlreadyExists"}
    assert ours.namespace.count_table_rows(CountTableRowsRequest(id=list(table))).count == COUNT


@pytest.mark.parametrize("parent", [(), ("a",)], ids=["root", "child"])
def test_renaming_the_same_table_to_many_names(tmp_path: Path, parent: Id):
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    for name in NAMES:
        ours.create_table((*parent, name))
    steps = [[("rename", ((*parent, name), ("a", f"{name}_{rival}"))) for name in NAMES] for rival in range(4)]

    won = processes.together(churn, [(OURS, tmp_path, mine) for mine in steps])

    winners = sorted(target for wins in won for target in wins)
    assert sorted(target.rpartition("_")[0] for target in winners) == sorted(f"a${name}" for name in NAMES)
    assert rows(tmp_path).keys() == {"a", *winners}
    assert ours.tables() == []
    for target in winners:
        assert not ours.is_only_declared(tuple(target.split("$")))


@pytest.mark.parametrize("parent", [(), ("a",)], ids=["root", "child"])
def test_renaming_many_tables_to_the_same_name(tmp_path: Path, parent: Id):
    ours = Client(OURS, tmp_path)
    ours.create_namespace(("a",))
    for rival in range(4):
        ours.create_table((*parent, f"t{rival}"))
    steps = [[("rename", ((*parent, f"t{rival}"), ("a", "same")))] for rival in range(4)]

    won = processes.together(churn, [(OURS, tmp_path, mine) for mine in steps])

    assert [list(wins) for wins in won if wins] == [["a$same"]]
    left = {f"t{rival}" for rival, wins in enumerate(won) if not wins}
    assert set(ours.tables(parent)) - {"same"} == left
    assert all(not ours.is_only_declared((*parent, name)) for name in left)


def in_threads(count: int, work: Callable[[int], str]) -> list[str]:
    """The outcomes of so many threads that start at the same moment."""
    barrier = Barrier(count)

    def started(number: int) -> str:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(started, range(count)))


def test_threads_of_one_client_share_commits(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    before = manifest_table(tmp_path).version

    outcomes = in_threads(32, lambda number: outcome(lambda: client.create_namespace((f"n{number}",))))

    assert outcomes == [OK] * 32
    assert rows(tmp_path).keys() == {"a", *(f"n{number}" for number in range(32))}
    assert manifest_table(tmp_path).version - before < 32


def test_every_thread_of_a_shared_commit_gets_its_own_answer(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",), properties={"k": "v"})
    client.create_namespace(("full",))
    client.create_namespace(("full", "x"))
    calls: list[tuple[str, Callable[[int], object]]] = [
        (OK, lambda number: client.create_namespace((f"n{number}",), properties={"mine": str(number)})),
        ("NamespaceAlreadyExists", lambda _: client.create_namespace(("a",))),
        ("NamespaceNotFound", lambda number: client.create_namespace((f"missing{number}", "x"))),
        ("NamespaceNotEmpty", lambda _: client.drop_namespace(("full",))),
    ]

    for _ in range(3):
        outcomes = in_threads(16, lambda number: outcome(lambda: calls[number % 4][1](number)))
        assert outcomes == [calls[number % 4][0] for number in range(16)]
        for number in range(0, 16, 4):
            assert client.describe_namespace((f"n{number}",)) == {"mine": str(number)}
            client.drop_namespace((f"n{number}",))


def test_threads_of_one_client_at_the_same_name(tmp_path: Path):
    client = Client(OURS, tmp_path)
    client.create_namespace(("a",))
    for names in (("t",), ("a", "t")):
        outcomes = in_threads(8, lambda _, names=names: outcome(lambda: client.create_table(names)))  # type: ignore[misc]
        assert Counter(outcomes) == {OK: 1, "TableAlreadyExists": 7}
        outcomes = in_threads(8, lambda _, names=names: outcome(lambda: client.drop(names)))  # type: ignore[misc]
        assert Counter(outcomes) == {OK: 1, "TableNotFound": 7}


def append(barrier: Any, root: Path, names: list[str]) -> None:
    """Enter namespaces as a careless writer would: look whether the name is free, then append a row."""
    for name in names:
        dataset = lance.dataset(str(root / MANIFEST))
        is_free = dataset.count_rows(f"object_id = '{name}'") == 0
        barrier.wait()
        if is_free:
            fragments = write_fragments(to_table([Entry(name, NAMESPACE)], SCHEMA), dataset, schema=SCHEMA)
            operation = lance.LanceOperation.Append(fragments)
            lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)
        barrier.wait()


def test_control_a_careless_writer_loses_the_race(tmp_path: Path):
    """Appends pass each other; that these tests find no repeated row is not for want of a race."""
    Client(OURS, tmp_path).create_namespace(("before",))

    processes.together(append, [(tmp_path, NAMES[:3])] * 2)

    with pytest.raises(AssertionError, match="several rows for"):
        rows(tmp_path)

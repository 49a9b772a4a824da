"""Several writers at once, on each cloud: exactly one wins. The controls show that these tests can fail."""

from __future__ import annotations

import pytest

from lancespace.authoring import Storage
from lancespace_testing.samples import COUNT
from lancespace_testing.threads import race
from plugins.dir.tests import processes
from tests.clouds.racing import OK, TAKEN, enter
from tests.clouds.unconditional import without_conditions
from tests.emulators.clouds import Cloud

WRITERS = 8
PROCESSES = 3
NAMES = [f"n{number}" for number in range(4)]


def winners(storage: Storage, path: str, *, unique: bool) -> dict[int, bytes]:
    """What each of those wrote who were told that they had written, of several who start at once."""
    contents = [f"writer {number}".encode() if unique else b"the same" for number in range(WRITERS)]
    outcomes = race(lambda number: storage.put_if_absent(path, contents[number], unique=unique), threads=WRITERS)
    assert all(isinstance(error, FileExistsError) for error in outcomes.lost.values()), outcomes.lost
    return {number: contents[number] for number in outcomes.won}


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "equal"])
def test_of_many_writers_one_wins(cloud: Cloud, *, unique: bool):
    storage = cloud.storage(cloud.new_root())
    for turn in range(5):
        path = f"{storage.path()}/race-{turn}"
        won = winners(storage, path, unique=unique)
        assert list(won.values()) == [storage.filesystem.cat_file(path)]


@pytest.mark.parametrize("name", ["s3", "gcs", "oss"])
def test_control_on_a_store_without_conditions_all_win(name: str, request: pytest.FixtureRequest):
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    storage = cloud.storage(cloud.new_root())
    with without_conditions(name, request):
        assert len(winners(storage, f"{storage.path()}/race", unique=True)) == WRITERS


@pytest.mark.parametrize("operation", ["create_namespace", "create_table"])
def test_of_several_processes_one_creates_each(cloud: Cloud, operation: str):
    properties = cloud.properties(cloud.new_root())
    orders = [NAMES if number % 2 == 0 else NAMES[::-1] for number in range(PROCESSES)]

    answers = processes.together(enter, [(properties, operation, order) for order in orders])

    for name in NAMES:
        outcomes = [answer[order.index(name)] for answer, order in zip(answers, orders, strict=True)]
        assert outcomes.count(OK) == 1, (name, outcomes)
        assert set(outcomes) <= {OK, *TAKEN}, (name, outcomes)
    with cloud.connect(properties["root"]) as namespace:
        if operation == "create_namespace":
            assert sorted(namespace.list_namespaces().namespaces) == NAMES
        else:
            assert sorted(namespace.list_tables().tables) == NAMES
            assert [namespace.count_table_rows(name).count for name in NAMES] == [COUNT] * len(NAMES)


@pytest.mark.parametrize("name", ["gcs", "oss"])
def test_control_without_conditions_processes_lose_what_they_created(name: str, request: pytest.FixtureRequest):
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    roots = [cloud.new_root() for _ in range(5)]
    for root in roots:
        with cloud.connect(root) as namespace:
            namespace.create_namespace("begun")  # In a store without conditions, no catalog begins.
    with without_conditions(name, request):
        assert any(lost(cloud, root) for root in roots)


def lost(cloud: Cloud, root: str) -> set[str]:
    """The namespaces of which a process was told that it had created them, and that are not there."""
    properties = cloud.properties(root)
    own = [[f"p{number}-{name}" for name in NAMES] for number in range(PROCESSES)]
    answers = processes.together(enter, [(properties, "create_namespace", names) for names in own])
    told = [
        name
        for names, answer in zip(own, answers, strict=True)
        for name, outcome in zip(names, answer, strict=True)
        if outcome == OK
    ]
    with cloud.connect(properties["root"]) as namespace:
        return set(told) - set(namespace.list_namespaces().namespaces)

"""Killed at any moment of any operation: the catalog is readable by both implementations, and a repeat finishes it."""

from __future__ import annotations

import itertools
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from plugins.dir.tests.crashing import OPERATIONS, die_at, names_of
from plugins.dir.tests.processes import Process
from plugins.dir.tests.support import COMPATIBILITY, OK, OURS, PYLANCE, V1_ONLY, V2_ONLY, Client, outcome, write_table

ROOT_ONLY = [name for name in OPERATIONS if name.endswith("in root")]
CASES = [
    *(("compatibility", COMPATIBILITY, name) for name in OPERATIONS),
    *(("V2", V2_ONLY, name) for name in OPERATIONS),
    *(("V1", V1_ONLY, name) for name in ROOT_ONLY),
]
MOST_MOMENTS = 200

State = dict[str, Any]


def prepare(root: Path, properties: dict[str, str]) -> None:
    """A catalog with something of everything."""
    client = Client(OURS, root, **properties)
    client.create_table(("r",))
    client.create_table(("other",))
    if properties != V1_ONLY:
        for names in (("ns",), ("ns", "sub"), ("empty",)):
            client.create_namespace(names)
        client.create_table(("ns", "t"))
        client.create_table(("ns", "sub", "deep"))
    write_table(root, "stray")


def state(root: Path, properties: dict[str, str], who: str = OURS) -> State:
    """All that a client that connects now can see."""
    client = Client(who, root, **properties)
    seen: State = {}

    def look(names: tuple[str, ...]) -> None:
        for table in client.tables(names):
            seen[".".join((*names, table))] = "declared" if client.is_only_declared((*names, table)) else "table"
        for child in client.namespaces(names):
            seen[".".join((*names, child))] = "namespace"
            look((*names, child))

    look(())
    return seen


@pytest.mark.parametrize(
    ("mode", "properties", "operation"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_killed_at_every_write(tmp_path: Path, mode: str, properties: dict[str, str], operation: str):  # noqa: ARG001
    start = tmp_path / "start"
    prepare(start, properties)
    before = state(start, properties)
    clean = tmp_path / "clean"
    shutil.copytree(start, clean)
    moments = Process(die_at, 0, clean, properties, operation).result()
    after = state(clean, properties)
    assert before != after
    assert 2 <= moments <= MOST_MOMENTS

    for moment in range(1, moments + 1):
        root = tmp_path / "crashed"
        shutil.copytree(start, root)
        assert Process(die_at, moment, root, properties, operation).exit_code() == -signal.SIGKILL

        found = state(root, properties)
        assert found in allowed(before, after, operation), (moment, found)
        assert state(root, properties, PYLANCE).items() >= seen_by_pylance(found).items(), moment
        repeated = outcome(lambda: OPERATIONS[operation](Client(OURS, root, **properties)))  # noqa: B023 - called at once
        assert repeated == OK or found == after, (moment, repeated)
        assert state(root, properties) == after, (moment, repeated)
        shutil.rmtree(root)


def allowed(before: State, after: State, operation: str) -> list[State]:
    """Wholly or not at all; a create may have got as far as declaring the table, and can be repeated."""
    created = ".".join(names_of(operation))
    return [before, after, *([{**before, created: "declared"}] if created else [])]


def seen_by_pylance(found: State) -> State:
    """What pylance has to find too. In the root it looks at directories only, whatever the manifest says of them."""
    return {name: kind for name, kind in found.items() if "." in name or kind == "namespace"}


def test_a_process_that_is_not_killed_says_so(tmp_path: Path):
    prepare(tmp_path, COMPATIBILITY)

    codes = itertools.chain(
        [Process(die_at, 1, tmp_path, COMPATIBILITY, "create namespace").exit_code()],
        [Process(die_at, 10_000, tmp_path, COMPATIBILITY, "create namespace").exit_code()],
    )

    assert list(codes) == [-signal.SIGKILL, 0]

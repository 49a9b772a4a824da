"""Money moves between two tables: whoever looks, whenever, and whoever dies, the sum is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import ConcurrentModificationError

import lancespace
import lancespace_dir
from lancespace_tables import StagedCommits
from plugins.dir.tests.crashing import crashes
from plugins.dir.tests.managing import connect, version_rows, versions, where
from plugins.dir.tests.processes import Process, together
from plugins.dir.tests.test_crashes import put_back

ACCOUNTS = ("bank.left", "bank.right")
EACH = 1000
WRITERS = 3
TRANSFERS = 4


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[lancespace.Namespace]:
    namespace = open_bank(tmp_path)
    yield namespace
    namespace.close()


def open_bank(root: Path) -> lancespace.Namespace:
    namespace = connect(root)
    namespace.create_namespace("bank")
    for account in ACCOUNTS:
        namespace.create_table(account, pa.table({"amount": [EACH]}))
    return namespace


def staged_transfer(namespace: lancespace.Namespace) -> list[Any]:
    """One unit goes from left to right, as soon as the batch is committed."""
    staging = StagedCommits(namespace)
    for account, change in zip(ACCOUNTS, ("- 1", "+ 1"), strict=True):
        lance.dataset(**where(staging, account)).update({"amount": f"amount {change}"})
    return staging.operations


def transfer(namespace: lancespace.Namespace) -> None:
    while True:
        try:
            namespace.batch_commit_tables(operations=staged_transfer(namespace))
        except ConcurrentModificationError:
            continue
        return


def amounts(namespace: lancespace.Namespace) -> tuple[int, ...]:
    """Both accounts at one moment."""
    seen = lancespace_dir.snapshot(namespace, ACCOUNTS)
    return tuple(
        lance.dataset(version=version, **where(namespace, account)).to_table()["amount"][0].as_py()
        for account, version in seen.items()
    )


def write(barrier: Any, root: str) -> None:
    namespace = connect(Path(root))
    barrier.wait()
    for _ in range(TRANSFERS):
        transfer(namespace)
    namespace.close()


def read_until_all_is_moved(root: str) -> list[tuple[int, ...]]:
    namespace = connect(Path(root))
    seen = [amounts(namespace)]
    while seen[-1][0] > EACH - WRITERS * TRANSFERS:
        seen.append(amounts(namespace))
    namespace.close()
    return seen


def test_readers_always_see_the_same_sum(bank, tmp_path):
    reader = Process(read_until_all_is_moved, str(tmp_path))
    together(write, [(str(tmp_path),)] * WRITERS)
    seen = reader.result()
    assert {sum(pair) for pair in seen} == {2 * EACH}
    assert [left for left, _ in seen] == sorted((left for left, _ in seen), reverse=True)
    moved = WRITERS * TRANSFERS
    assert amounts(bank) == (EACH - moved, EACH + moved)
    for account in ACCOUNTS:
        assert versions(bank, account) == list(range(1, moved + 2))


def test_tables_that_change_one_by_one_are_caught_in_between(bank):
    """The check can fail: without the batch the sum is wrong in between."""
    for operation in staged_transfer(bank):
        bank.batch_commit_tables(operations=[operation])
        seen = amounts(bank)
        assert (sum(seen) == 2 * EACH) == (seen[1] > EACH)


def test_killed_at_every_write_of_a_batch(tmp_path):
    root, template = tmp_path / "root", tmp_path / "template"
    bank = open_bank(root)
    operations = [operation.model_dump(exclude_none=True) for operation in staged_transfer(bank)]
    bank.close()
    root.rename(template)
    before, after = (EACH, EACH), (EACH - 1, EACH + 1)
    outcomes = set()
    put_back(template, root)
    for moment in crashes(root, {}, "batch_commit_tables", (), {"operations": operations}):
        seen = amounts(connect(root))
        assert seen in {before, after}, moment
        outcomes.add(seen)
        again = connect(root)
        again.batch_commit_tables(operations=operations)
        assert amounts(again) == after, moment
        transfer(again)
        assert amounts(again) == (EACH - 2, EACH + 2), moment
        assert len(version_rows(root)) == 2 * 3
        put_back(template, root)
    assert outcomes == {before, after}

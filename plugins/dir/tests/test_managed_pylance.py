"""pylance itself as the client of managed tables: alone, with many threads, and with many processes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import lance
import lance.namespace
import pytest
from lance_namespace import CreateNamespaceRequest, DescribeTableRequest, InternalError, ListTablesRequest

import lancespace
from plugins.dir.tests.managing import connect, ids, numbers, versions, where
from plugins.dir.tests.processes import together
from plugins.dir.tests.support import OURS, PYLANCE, rows

THREADS = 6
PROCESSES = 3
EACH = 4


@pytest.fixture
def ns(tmp_path: Path):
    namespace = connect(tmp_path)
    namespace.create_namespace("a")
    yield namespace
    namespace.close()


def test_pylance_creates_appends_and_overwrites(ns):
    lance.write_dataset(numbers(1), mode="create", **where(ns, "a.t"))
    lance.write_dataset(numbers(2), mode="append", **where(ns, "a.t"))
    assert ids(ns, "a.t") == [1, 2]
    lance.write_dataset(numbers(3), mode="overwrite", **where(ns, "a.t"))
    assert ids(ns, "a.t") == [3]
    assert versions(ns, "a.t") == [1, 2, 3]
    assert lance.dataset(version=2, **where(ns, "a.t")).count_rows() == 2


def test_whatever_pylance_does_to_a_dataset_goes_through_the_catalog(ns):
    lance.write_dataset(numbers(*range(10)), mode="create", **where(ns, "a.t"))
    dataset = lance.dataset(**where(ns, "a.t"))
    dataset.update({"id": "id + 100"}, where="id = 0")
    dataset.delete("id = 1")
    dataset.merge_insert("id").when_not_matched_insert_all().execute(numbers(50))
    dataset.create_scalar_index("id", "BTREE")
    dataset.add_columns({"double": "id * 2"})
    dataset.optimize.compact_files()
    dataset.checkout_version(1).restore()
    latest = lance.dataset(**where(ns, "a.t")).version
    assert versions(ns, "a.t") == list(range(1, latest + 1))
    assert ids(ns, "a.t") == list(range(10))


def test_an_open_dataset_sees_the_commits_of_others(ns):
    ns.create_table("a.t", numbers(1))
    dataset = lance.dataset(**where(ns, "a.t"))
    ns.insert_into_table("a.t", numbers(2))
    assert dataset.latest_version == 2
    dataset.checkout_latest()
    assert dataset.count_rows() == 2


def test_the_operations_see_what_pylance_committed(ns):
    lance.write_dataset(numbers(1, 2), mode="create", **where(ns, "a.t"))
    ns.create_table_tag("a.t", tag="first", version=1)
    ns.create_table_branch("a.t", name="dev")
    ns.insert_into_table("a.t", numbers(3), branch="dev")
    lance.dataset(**where(ns, "a.t")).delete("id = 1")
    assert ns.count_table_rows("a.t", version=1).count == 2
    assert ns.count_table_rows("a.t", branch="dev").count == 3
    assert ns.restore_table("a.t", version=1).transaction_id
    assert ids(ns, "a.t") == [1, 2]
    assert versions(ns, "a.t") == [1, 2, 3]


def test_threads_lose_nothing(ns, tmp_path):
    ns.create_table("a.t", numbers())
    clients = [ns, connect(tmp_path)]
    failures: list[BaseException] = []

    def write(who: int) -> None:
        try:
            _append(clients[who % 2], "a.t", who, EACH)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            failures.append(error)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert THREADS * EACH // 2 < _check(ns, "a.t", THREADS) <= THREADS * EACH


def test_processes_lose_nothing(ns, tmp_path):
    ns.create_table("a.t", numbers())
    together(_write_in_process, [(str(tmp_path), who) for who in range(PROCESSES)])
    assert _check(ns, "a.t", PROCESSES) == PROCESSES * EACH


def _write_in_process(barrier: Any, root: str, who: int) -> None:
    namespace = connect(Path(root))
    barrier.wait()
    _append(namespace, "a.t", who, EACH)
    namespace.close()


def _append(namespace: lancespace.Namespace, table: str, who: int, count: int) -> None:
    """Rows that tell who wrote them, half of them by pylance and half by the operation."""
    for number in range(count):
        row = numbers(who * count + number)
        if number % 2:
            lance.write_dataset(row, mode="append", **where(namespace, table))
        else:
            namespace.insert_into_table(table, row)


def _check(namespace: lancespace.Namespace, table: str, writers: int) -> int:
    """Every row is there once, and from each version on; how many commits that took: small inserts share some."""
    known = versions(namespace, table)
    assert known == list(range(1, len(known) + 1))
    before: list[int] = []
    for version in known:
        found = sorted(lance.dataset(version=version, **where(namespace, table)).to_table()["id"].to_pylist())
        assert set(before) < set(found) or version == 1
        before = found
    assert before == ids(namespace, table) == list(range(writers * EACH))
    return len(known) - 1


def test_pylance_reads_such_a_catalog_and_refuses_to_change_it(ns, tmp_path):
    """Its manifest has a kind of row that the Rust implementation of pylance 14 does not know."""
    ns.create_table("a.t", numbers(1))
    theirs = client_of(PYLANCE, tmp_path)
    assert theirs.list_tables(ListTablesRequest(id=["a"])).tables == ["t"]
    assert lance.dataset(theirs.describe_table(DescribeTableRequest(id=["a", "t"])).location).count_rows() == 1
    before = rows(tmp_path)
    with pytest.raises(InternalError, match="Invalid object type: table_version"):
        theirs.create_namespace(CreateNamespaceRequest(id=["b"]))
    assert rows(tmp_path) == before


@pytest.mark.parametrize("who", [OURS, PYLANCE])
def test_tracking_leaves_the_versions_in_storage(who, tmp_path):
    """The property that both implementations have: clients commit through the catalog, which keeps no versions."""
    ours = client_of(OURS, tmp_path, table_version_tracking_enabled="true")
    ours.create_namespace("a")
    ours.create_table("a.t", numbers(1))
    namespace = client_of(who, tmp_path, table_version_tracking_enabled="true")
    assert namespace.describe_table(DescribeTableRequest(id=["a", "t"])).managed_versioning is True
    lance.write_dataset(numbers(2), mode="append", **where(namespace, "a.t"))
    lance.write_dataset(numbers(3), ours.describe_table("a.t").location, mode="append")
    assert ids(ours, "a.t") == [1, 2, 3]
    assert not [row for row in rows(tmp_path).values() if row["object_type"] == "table_version"]


def client_of(who: str, root: Path, **properties: str) -> Any:
    if who == OURS:
        return lancespace.connect("dir", {"root": str(root), "dir_listing_enabled": "false", **properties})
    return lance.namespace.DirectoryNamespace(root=str(root), dir_listing_enabled="false", **properties)

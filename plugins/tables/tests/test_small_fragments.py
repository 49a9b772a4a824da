"""Many small appends leave few fragments: the writer of every 64th version merges those at the end of the table."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lancespace_tables import TableLocation
from lancespace_tables._appends import INTERVAL, SMALL_BYTES, Append, Appends

SCHEMA = pa.schema([pa.field("id", pa.int64())])


class UnreadableRef(TableLocation):
    """A table that can be appended to and not be opened again."""

    def open(self, version: int | str | None = None, branch: str | None = None) -> lance.LanceDataset:
        raise ConnectionError(f"the store does not answer: {self.name} {version} {branch}")


@pytest.fixture(params=[False, True], ids=["row addresses", "stable row ids"])
def ref(tmp_path: Path, request: pytest.FixtureRequest) -> TableLocation:
    location = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"id": [0]}, schema=SCHEMA), location, enable_stable_row_ids=request.param)
    return TableLocation(("t",), location, {})


def insert(ref: TableLocation, numbers: list[int], branch: str | None = None, appends: Appends | None = None) -> int:
    batch = pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], schema=SCHEMA)
    return (appends or Appends()).commit(Append(ref, branch, SCHEMA, [batch]))


def insert_each(ref: TableLocation, numbers: Iterable[int], branch: str | None = None) -> None:
    """Insert a row in each commit."""
    appends = Appends()
    for number in numbers:
        insert(ref, [number], branch, appends)


def ids(dataset: lance.LanceDataset, **how: Any) -> list[int]:
    return sorted(dataset.to_table(**how)["id"].to_pylist())


def fragments(ref: TableLocation, branch: str | None = None) -> list[int]:
    return [one.fragment_id for one in ref.open(branch=branch).get_fragments()]


def test_small_fragments_are_merged_and_old_versions_stay(ref):
    insert_each(ref, range(1, 3 * INTERVAL + 1))
    assert len(fragments(ref)) == 1
    assert ref.open().version == 1 + 3 * (INTERVAL + 2)  # A merge reserves a fragment first.
    assert ids(ref.open()) == list(range(3 * INTERVAL + 1))
    before = ref.open(INTERVAL)
    assert len(before.get_fragments()) == INTERVAL
    assert ids(before) == list(range(INTERVAL))


def test_updates_between_appends_do_not_prevent_the_merge(ref):
    appends = Appends()
    for number in range(1, INTERVAL + 1):
        insert(ref, [number], appends=appends)
        if number < INTERVAL:
            ref.open().update({"id": f"{number} + 1000"}, where=f"id = {number}")
    assert len(fragments(ref)) == 1
    assert ids(ref.open()) == [0, INTERVAL, *range(1001, 1000 + INTERVAL)]


def test_row_ids_stay_where_they_are_stable(ref):
    insert_each(ref, range(1, INTERVAL + 1))
    merged = ref.open()
    assert len(merged.get_fragments()) == 1
    before = ref.open(merged.version - 1)
    row_ids = [each.to_table(with_row_id=True)["_rowid"] for each in (before, merged)]
    assert (row_ids[0] == row_ids[1]) == merged.has_stable_row_ids


def test_what_an_index_covers_is_left_alone(ref):
    insert_each(ref, range(1, 10))
    ref.open().create_scalar_index("id", "BTREE")
    insert_each(ref, range(10, 10 + INTERVAL))
    dataset = ref.open()
    assert len(dataset.get_fragments()) == 10 + 1
    assert [ids(dataset, filter=f"id = {number}") for number in (7, INTERVAL)] == [[7], [INTERVAL]]
    assert "ScalarIndexQuery" in dataset.scanner(filter="id = 7").explain_plan()


def test_large_fragments_are_left_alone(ref):
    many = [10**15 + number * 7919**3 % 10**14 for number in range(SMALL_BYTES // 4)]
    large = lance.write_dataset(pa.table({"id": many}, schema=SCHEMA), ref.location, mode="append").get_fragments()[-1]
    insert_each(ref, range(INTERVAL))
    assert large.fragment_id in fragments(ref)
    assert len(fragments(ref)) == 3


def test_branches_are_merged_too(ref):
    ref.open().create_branch("side")
    insert_each(ref, range(1, INTERVAL + 1), "side")
    assert len(fragments(ref, "side")) < INTERVAL
    assert ids(ref.open(branch="side")) == list(range(INTERVAL + 1))
    assert ids(ref.open()) == [0]


def test_rows_are_safe_if_the_merge_fails(ref, caplog):
    insert_each(UnreadableRef(ref.id, ref.location, {}), range(1, INTERVAL + 1))
    assert ids(ref.open()) == list(range(INTERVAL + 1))
    assert "the store does not answer" in caplog.text


def test_merges_and_changes_of_others_lose_nothing(ref):
    each = 2 * INTERVAL
    starts = (1000, 2000)
    writers = [threading.Thread(target=insert_each, args=(ref, range(start, start + each))) for start in starts]
    for writer in writers:
        writer.start()
    deleted = set()
    while any(writer.is_alive() for writer in writers):
        dataset = ref.open()
        newest = max(ids(dataset), default=-1)
        dataset.delete(f"id = {newest}", conflict_retries=100, retry_timeout=timedelta(seconds=60))
        deleted.add(newest)
    insert_each(ref, range(3000, 3000 + INTERVAL))
    expected = {0, *(start + number for start in starts for number in range(each))} - deleted
    found = ids(ref.open())
    assert (set(found), len(found)) == (expected | set(range(3000, 3000 + INTERVAL)), len(expected) + INTERVAL)
    assert len(fragments(ref)) <= 2

"""Numbered batches and creators that meet: no session is needed, as tasks are called right here."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import ConcurrentModificationError, InvalidInputError, InvalidTableStateError
from pyspark.sql.types import LongType, StructField, StructType

from lancespace import Namespace
from lancespace_spark.batches import NumberedBatches
from lancespace_spark.checkpoints import query_id
from lancespace_spark.options import parse
from lancespace_spark.sinks import TableStreamWriter
from lancespace_spark.writing import TableWriter
from plugins.spark.tests.data import TABLE, files, ids, used, versions

SCHEMA = StructType([StructField("id", LongType())])


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def writer(root: str, **options: str) -> TableWriter:
    return TableWriter(parse({"root": root, "table": TABLE, **options}), SCHEMA, overwrite=False)


def write(writer: TableWriter, *numbers: int) -> Any:
    return writer.write(iter(rows(*numbers).to_batches()))


def test_a_creator_that_fails_leaves_the_rows_of_another(ns: Namespace, root: str) -> None:
    failed, other = writer(root), writer(root)
    other.commit([write(other, 1, 2)])
    failed.abort([None])
    assert ids(ns) == [1, 2]


def test_a_creator_that_fails_leaves_another_at_its_work(ns: Namespace, root: str) -> None:
    failed, other = writer(root), writer(root)
    told = write(other, 1, 2)
    failed.abort([None])
    other.commit([told])
    assert ids(ns) == [1, 2]


def test_of_two_creators_one_gets_a_conflict_and_leaves_no_file(ns: Namespace, root: str) -> None:
    first, second = writer(root), writer(root)
    told = write(first, 1)
    second.commit([write(second, 2)])
    with pytest.raises(ConcurrentModificationError, match="created by another caller"):
        first.commit([told])
    first.abort([told])
    assert ids(ns) == [2]
    assert files(ns) == used(ns)


def test_a_first_commit_whose_answer_is_lost_stays(ns: Namespace, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from lancespace_jobs import Stage

    commit = Stage.commit

    def lost(*arguments: Any) -> int:
        commit(*arguments)
        raise TimeoutError("no answer")

    monkeypatch.setattr(Stage, "commit", lost)
    creator = writer(root)
    told = write(creator, 1)
    with pytest.raises(Exception, match="no answer"):
        creator.commit([told])
    creator.abort([told])
    assert ids(ns) == [1]


@pytest.mark.parametrize("present", [(), (0,)], ids=["no rows", "rows"])
def test_a_twin_that_commits_between_look_and_commit_does_not_double_a_batch(
    ns: Namespace, root: str, monkeypatch: pytest.MonkeyPatch, present: tuple[int, ...]
) -> None:
    ns.create_table(TABLE, rows(*present))
    one, twin = (writer(root, stream_id="s", batch="7") for _ in range(2))
    told, twins = write(one, 5, 6), write(twin, 5, 6)
    look = NumberedBatches._has
    looked: list[int] = []

    def late(self: NumberedBatches, dataset: Any, batch: int, looked_at: int) -> bool:
        found = look(self, dataset, batch, looked_at)
        if not looked:
            looked.append(batch)
            twin.commit([twins])
        return found

    monkeypatch.setattr(NumberedBatches, "_has", late)
    one.commit([told])
    assert ids(ns) == [*present, 5, 6]
    assert versions(ns) == [1, 2]
    assert {name for name in files(ns) if name.startswith("data/")} == used(ns)


def test_a_batch_is_found_however_many_versions_came_after_it_and_were_cleaned_up(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, rows(0))
    first = writer(root, stream_id="s", batch="7")
    first.commit([write(first, 5)])
    ns.create_table_tag(TABLE, tag="kept", version=2)
    for number in (6, 7, 8):
        ns.insert_into_table(TABLE, rows(number))
    ns.table(TABLE).dataset().cleanup_old_versions(timedelta(0), error_if_tagged_old_versions=False)
    ns.insert_into_table(TABLE, rows(9))
    assert versions(ns) == [2, 5, 6]
    again = writer(root, stream_id="s", batch="7")
    again.commit([write(again, 5)])
    assert ids(ns) == [0, 5, 6, 7, 8, 9]


def test_a_batch_goes_on_top_of_what_others_append_and_keeps_columns_and_indexes(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, pa.table({"gone": ["x"], "id": pa.array([0], pa.int64()), "name": ["y"]}))
    ns.alter_table_drop_columns(TABLE, columns=["gone"])
    ns.create_table_scalar_index(TABLE, column="id", index_type="BTREE")
    ns.delete_from_table(TABLE, predicate="true")
    for batch in range(3):
        one = writer(root, stream_id="s", batch=str(batch), max_rows_per_file="1")
        told = write(one, 10 * batch, 10 * batch + 1)
        if batch:
            ns.insert_into_table(TABLE, pa.table({"id": pa.array([100 + batch], pa.int64()), "name": ["z"]}))
        one.commit([told])
    assert ids(ns) == [0, 1, 10, 11, 20, 21, 101, 102]
    assert [index.name for index in ns.table(TABLE).dataset().describe_indices()] == ["id_idx"]
    assert ns.table(TABLE).count("id = 11") == 1


def test_a_number_before_the_last_is_refused_and_the_last_is_passed_over(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, rows(0))
    for batch in (0, 1, 1):
        one = writer(root, stream_id="s", batch=str(batch))
        one.commit([write(one, batch + 1)])
    assert ids(ns) == [0, 1, 2]
    late = writer(root, stream_id="s", batch="0")
    told = write(late, 3)
    with pytest.raises(InvalidTableStateError, match=r"batch 1 already: .*'stream_id'"):
        late.commit([told])


def test_a_stream_is_known_by_the_id_in_its_checkpoint(ns: Namespace, root: str, tmp_path: Path) -> None:
    ns.create_table(TABLE, rows())
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for number, name in enumerate(["one", "one", "begun anew"]):
        (folder / "metadata").write_text(json.dumps({"id": name}))
        options = parse({"root": root, "table": TABLE, "checkpointLocation": folder.as_uri()})
        sink = TableStreamWriter(options, SCHEMA, overwrite=False)
        sink.commit([sink.write(iter(rows(number).to_batches()))], 0)
    assert ids(ns) == [0, 2]


def test_a_checkpoint_that_cannot_be_read_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot be read from its checkpoint .*'stream_id'"):
        query_id(str(tmp_path / "nowhere"))

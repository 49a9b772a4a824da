"""Reads that are planned and carried out right here: no session is needed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidTableStateError, TableColumnNotFoundError, UnsupportedOperationError
from pyspark.sql.streaming.datasource import ReadMaxFiles
from pyspark.sql.types import StructType

import lancespace_jobs as jobs
from lancespace import Namespace
from lancespace_spark.options import parse
from lancespace_spark.source import LanceSource
from lancespace_spark.streams import TableStreamReader
from lancespace_spark.writing import TableWriter
from plugins.spark.tests.data import TABLE, fill, orders

Rows = list[dict[str, Any]]


def schema(ddl: str) -> StructType:
    """A schema of simple types; Spark's own reading of such text needs a session."""
    found = StructType()
    for column in ddl.split(", "):
        name, kind = column.split(" ")
        found = found.add(name, kind)
    return found


def rows_of(reader: Any, parts: Sequence[Any]) -> Rows:
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def read(root: str, ddl: str | None = None, **options: str) -> Rows:
    source = LanceSource({"root": root, "table": TABLE, **options})
    reader = source.reader(source.schema() if ddl is None else schema(ddl))
    return rows_of(reader, reader.partitions())


def streamed(root: str, start: int, end: int, ddl: str = "id long, name string", **options: str) -> Rows:
    reader = TableStreamReader(parse({"root": root, "table": TABLE, **options}), schema(ddl))
    parts = reader.partitions({"version": start}, {"version": end})
    return rows_of(reader, parts)


def numbers(rows: Rows) -> list[int]:
    return sorted(row["id"] for row in rows)


def test_columns_of_a_given_schema_are_found_in_any_case_or_refused(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, orders(0, 2))
    assert read(root, "ID long, name string") == [{"ID": 0, "name": "n0"}, {"ID": 1, "name": "n1"}]
    assert read(root, "ID long", filter="id = 1") == [{"ID": 1}]
    with pytest.raises(TableColumnNotFoundError, match="no column 'nam'; it has id, name, v"):
        read(root, "id long, nam string")


def test_odd_names(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, pa.table({"a b": [1], "c,d": [2]}))
    assert read(root, columns="`c,d`, a b") == [{"c,d": 2, "a b": 1}]


def test_blobs_are_bytes(ns: Namespace, root: str) -> None:
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    values = pa.array([b"x", None], pa.large_binary())
    ns.create_table(TABLE, pa.table([pa.array([1, 2]), values], schema=pa.schema([pa.field("id", pa.int64()), blob])))
    source = LanceSource({"root": root, "table": TABLE})
    writer: Any = source.writer(source.schema(), overwrite=False)
    added = pa.record_batch({"id": [3, 4], "b": pa.array([None, b"yy"], pa.binary())})
    writer.commit([writer.write(iter([added]))])
    assert {row["id"]: row["b"] for row in read(root)} == {1: b"x", 2: None, 3: None, 4: b"yy"}


def test_dictionaries_take_rows_of_several_batches(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, pa.table({"c": pa.array(["a"]).dictionary_encode()}))
    source = LanceSource({"root": root, "table": TABLE})
    writer: Any = source.writer(source.schema(), overwrite=False)
    writer.commit([writer.write(iter([pa.record_batch({"c": ["b", "a"]}), pa.record_batch({"c": ["c", None]})]))])
    assert sorted(str(row["c"]) for row in read(root)) == ["None", "a", "a", "b", "c"]


def test_distances_and_scores_may_be_asked_for(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, orders(0, 3))
    assert read(root, vector="2,3", k="1", columns="id,_distance") == [{"id": 1, "_distance": 0.0}]
    with pytest.raises(TableColumnNotFoundError, match="no column '_distance'"):
        read(root, columns="id,_distance")


def test_a_column_that_came_later_is_null_before_and_one_that_was_renamed_is_missed(ns: Namespace, root: str) -> None:
    fill(ns, 2, 1)
    ns.alter_table_add_columns(TABLE, new_columns=[{"name": "twice", "expression": "id * 2"}])
    assert streamed(root, 1, 3, "id long, twice long") == [{"id": 1, "twice": None}]
    ns.table(TABLE).dataset().alter_columns({"path": "name", "name": "label"})
    ns.insert_into_table(TABLE, ns.table(TABLE).to_arrow())
    for ddl in ("id long, name string", "id long, label string"):
        with pytest.raises(TableColumnNotFoundError, match=r"no column '(name|label)'"):
            streamed(root, 1, 5, ddl)


def test_an_update_that_only_inserts_is_passed_on(ns: Namespace, root: str) -> None:
    fill(ns, 1, 2)
    ns.table(TABLE).dataset().merge_insert("id").when_not_matched_insert_all().execute(orders(2, 4))
    assert numbers(streamed(root, 1, 2)) == [2, 3]
    ns.table(TABLE).dataset().merge_insert("id").when_matched_update_all().execute(orders(2, 3))
    with pytest.raises(UnsupportedOperationError, match=r"version 3 .* is a Update"):
        streamed(root, 1, 3)


def test_what_a_numbered_batch_adds_is_passed_on(ns: Namespace, root: str) -> None:
    fill(ns, 1, 2)
    ns.delete_from_table(TABLE, predicate="id = 0")
    options = parse({"root": root, "table": TABLE, "stream_id": "s", "batch": "1"})
    writer = TableWriter(options, LanceSource({"root": root, "table": TABLE}).schema(), overwrite=False)
    rows = orders(2, 4)
    writer.commit(
        [writer.write(iter(rows.cast(rows.schema.set(2, pa.field("v", pa.list_(pa.float32())))).to_batches()))]
    )
    assert numbers(streamed(root, 2, 3)) == [2, 3]


def test_a_change_of_which_pylance_knows_no_name_is_seen_in_the_fragments(
    ns: Namespace, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lancespace_spark import streams

    fill(ns, 2, 2)
    ns.delete_from_table(TABLE, predicate="id = 0")
    monkeypatch.setattr(streams, "operation_of", lambda *_: "BaseOperation")
    assert numbers(streamed(root, 1, 2)) == [2, 3]
    with pytest.raises(UnsupportedOperationError, match="version 3"):
        streamed(root, 1, 3)


def test_a_limited_stream_begins_where_all_later_versions_are_there(ns: Namespace, root: str) -> None:
    fill(ns, 1, 2)
    ns.create_table_tag(TABLE, tag="keep", version=1)
    for number in range(1, 4):
        ns.insert_into_table(TABLE, orders(2 * number, 2 * number + 2))
    jobs.clean_up(ns, TABLE, older_than=timedelta(0)).wait()
    ns.insert_into_table(TABLE, orders(8, 10))
    reader = TableStreamReader(parse({"root": root, "table": TABLE}), schema("id long"))
    assert reader.latestOffset({"version": 0}, ReadMaxFiles(1)) == {"version": 4}
    assert numbers(streamed(root, 0, 4)) == list(range(8))
    assert numbers(streamed(root, 4, 5)) == [8, 9]
    with pytest.raises(InvalidTableStateError, match="version 2 of the table is gone"):
        streamed(root, 1, 5)


def test_after_version_0_is_the_whole_table(ns: Namespace, root: str) -> None:
    fill(ns, 2, 2)
    assert numbers(read(root, since_version="0")) == [0, 1, 2, 3]
    assert numbers(read(root, since_version="1")) == [2, 3]

"""Scans that tasks do as functions: what plans show of them, and that Spark treats their rows as any others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lancespace_spark import sql
from lancespace_spark.mapping import map_batches
from plugins.spark.tests.data import TABLE, fill, read
from plugins.spark.tests.plans import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

RECORD = pa.struct([("a", pa.large_string()), ("b", pa.list_(pa.int8()))])
VALUES = {
    "t": pa.array([dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc), None], pa.timestamp("us", tz="UTC")),
    "n": pa.array([1_719_835_200_000_000_000, None], pa.timestamp("ns")),
    "d": pa.array([dt.date(2024, 7, 1), None], pa.date32()),
    "u": pa.array([2**32 - 1, None], pa.uint32()),
    "h": pa.array([0.5, None], pa.float16()),
    "v": pa.array([[1.0, None], None], pa.list_(pa.float32(), 2)),
    "s": pa.array([{"a": "x", "b": [1, None]}, None], RECORD),
    "k": pa.array(["one", None], pa.dictionary(pa.int8(), pa.string())),
    "raw": pa.array([b"\x00", None], pa.large_binary()),
}


def explained(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_values_of_all_types_are_those_of_the_data_source(
    spark: SparkSession, ns: Namespace, root: str, zone: str
) -> None:
    ns.create_table("t", pa.table(VALUES))
    with setting(spark, "spark.sql.session.timeZone", zone):
        frame, expected = sql(spark, ns, "SELECT * FROM t"), read(spark, root, "t")
        assert shown(frame)
        assert frame.schema == expected.schema
        assert frame.selectExpr("to_json(struct(*))").collect() == expected.selectExpr("to_json(struct(*))").collect()
        assert frame.toArrow().equals(expected.toArrow())


def test_plans_name_the_table_and_the_filter_and_no_property(spark: SparkSession, ns: Namespace, root: str) -> None:
    fill(ns)
    frame = sql(spark, ns, f"SELECT name FROM {TABLE} WHERE id < 3 AND upper(name) <> 'N1'")
    assert "MapInArrow lancespace[sales.orders; where ((`name` IS NOT NULL) AND (`id` < 3))]" in explained(frame)
    assert root not in explained(frame)
    assert sorted(row["name"] for row in frame.collect()) == ["n0", "n2"]


def test_plans_show_the_beginning_of_a_long_filter(spark: SparkSession, ns: Namespace) -> None:
    fill(ns)
    frame = sql(spark, ns, f"SELECT name FROM {TABLE} WHERE id IN ({', '.join(map(str, range(0, 9000, 3)))})")
    (scan,) = shown(frame)
    assert str(scan.condition).startswith("((`id` IN (0, 3, 6, ")
    assert len(str(scan.condition)) < 1100
    assert frame.count() == 14


def test_a_frame_can_be_used_more_than_once(spark: SparkSession, ns: Namespace) -> None:
    fill(ns, fragments=3, each=5)
    frame = sql(spark, ns, f"SELECT id FROM {TABLE}")
    assert frame.union(frame).count() == 30
    assert frame.alias("a").join(frame.alias("b"), "id").count() == 15
    assert frame.count() == 15


def test_spark_holds_no_table_in_memory_for_a_join_as_it_knows_of_no_size(spark: SparkSession, ns: Namespace) -> None:
    fill(ns)
    frame = sql(spark, ns, f"SELECT a.name FROM {TABLE} a JOIN {TABLE} b ON a.id = b.id")
    assert "SortMergeJoin" in explained(frame)
    assert "Broadcast" not in explained(frame)
    assert frame.count() == 40


def test_a_table_without_rows(spark: SparkSession, ns: Namespace) -> None:
    fill(ns, fragments=1)
    ns.delete_from_table(TABLE, predicate="true")
    assert sql(spark, ns, f"SELECT * FROM {TABLE}").collect() == []


def test_functions_get_columns_whose_names_have_dots(spark: SparkSession) -> None:
    frame = spark.range(3).withColumnRenamed("id", "a.b")
    assert sorted(map_batches(frame, iter, "x long").collect()) == [(0,), (1,), (2,)]

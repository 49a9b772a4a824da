"""Counts, sums and extremes that tasks compute in Lance: they must be what Spark alone computes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from lancespace import connect
from lancespace_spark import sql
from plugins.spark.tests.data import read
from plugins.spark.tests.plans import shown
from plugins.spark.tests.test_predicates import condition, rows
from plugins.spark.tests.test_sql import scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

Alone = Callable[[str], "DataFrame"]
PUSHED = (
    "count(*) AS n, count(1), count(text) AS n, sum(small), sum(unsigned), min(big), max(text), min(day), max(flag)"
)
"""Two columns of the answer have the same name, as they may."""


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    with connect("dir", {"root": str(tmp_path_factory.mktemp("aggregates"))}) as namespace:
        namespace.create_table("t", rows(random.Random(2)))
        namespace.insert_into_table("t", rows(random.Random(3)))
        namespace.delete_from_table("t", predicate="n % 7 = 0")
        namespace.create_table("empty", rows(random.Random(2)).slice(0, 0))
        namespace.create_table("large", pa.table({"x": [2**63 - 1, 1, -5]}))
        namespace.create_table("keys", pa.table({"id": range(100), "x": range(100)}))
        namespace.create_table_scalar_index("keys", column="id", index_type="BTREE")
        yield namespace


def is_pushed(frame: DataFrame) -> bool:
    """Whether Spark gets a row from each task, and not those of the table."""
    return any(one.aggregates for one in shown(frame))


@pytest.fixture(scope="module")
def alone(spark: SparkSession, ns: Namespace) -> Alone:
    """The same question to Spark, which gets all rows for it."""
    for name in ("t", "empty", "large"):
        local = spark.createDataFrame(read(spark, ns.connection_args()[1]["root"], name).toArrow())
        local.createOrReplaceTempView(name)
    return spark.sql


def test_whole_tables(spark: SparkSession, ns: Namespace, alone: Alone) -> None:
    for table in ("t", "empty"):
        statement = f"SELECT {PUSHED} FROM {table}"
        answered, expected = sql(spark, ns, statement), alone(statement)
        assert is_pushed(answered)
        assert answered.schema.simpleString() == expected.schema.simpleString()
        assert answered.collect() == expected.collect()


def test_rows_that_a_condition_chooses(spark: SparkSession, ns: Namespace, alone: Alone) -> None:
    chance = random.Random(4)
    conditions = [f"n > 3 AND {condition(chance, depth)}" for depth in (0, 0, 0, 0, 0, 0, 1, 2)]
    statements = [f"SELECT count(*), sum(n), max(text) FROM t WHERE {one}" for one in conditions]
    answered = [sql(spark, ns, statement) for statement in statements]
    assert sum(map(is_pushed, answered)) > len(statements) // 3
    for statement, frame in zip(statements, answered, strict=True):
        assert frame.collect() == alone(statement).collect(), statement


OTHERS = (
    "SELECT count(*), sum(n) FROM t WHERE small NOT IN (0, 127) OR small NOT IN (1, -1)",
    "SELECT count(*) FROM t WHERE NOT (text IN ('a', 'q') AND text IN ('', 'aa'))",
    "SELECT sum(real) FROM t",
    "SELECT max(real) FROM t",
    "SELECT count(DISTINCT small) FROM t",
    "SELECT count(*) FILTER (WHERE small > 0) FROM t",
    "SELECT sum(small) + 1 FROM t",
    "SELECT sum(small + 1) FROM t",
    "SELECT max(n) FROM (SELECT -n AS n FROM t)",
    "SELECT count(text, small) FROM t",
    "SELECT small, count(*) FROM t GROUP BY small ORDER BY small",
    "SELECT count(*) FROM t WHERE real > 0",
    "SELECT count(*) FROM t WHERE small IN (SELECT small FROM t WHERE n < 10)",
    "SELECT id FROM range(3) WHERE id < (SELECT min(n) + 3 FROM t)",
    "SELECT try_sum(x) FROM large WHERE x > 0",
)


@pytest.mark.parametrize("statement", OTHERS)
def test_what_is_not_certain_to_be_equal_is_left_to_spark(
    spark: SparkSession, ns: Namespace, alone: Alone, statement: str
) -> None:
    frame = sql(spark, ns, statement)
    assert not is_pushed(frame)
    assert str(frame.collect()) == str(alone(statement).collect())


def test_parts_may_overflow_and_the_whole_may_not(spark: SparkSession, ns: Namespace) -> None:
    assert sql(spark, ns, "SELECT sum(x) FROM large").collect() == [(2**63 - 5,)]
    with pytest.raises(PySparkException, match="OVERFLOW"):
        sql(spark, ns, "SELECT sum(x) FROM large WHERE x > 0").collect()


def test_without_ansi_sums_are_sparks(spark: SparkSession, ns: Namespace) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        frame = sql(spark, ns, "SELECT sum(x) FROM large WHERE x > 0")
        assert not is_pushed(frame)
        assert frame.collect() == [(-(2**63),)]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_rows_are_counted_without_reading_any(spark: SparkSession, ns: Namespace, alone: Alone) -> None:
    frame = sql(spark, ns, "SELECT count(*) AS n FROM t")
    assert scans(frame) == []
    assert frame.collect() == alone("SELECT count(*) AS n FROM t").collect()


def test_an_index_goes_first(spark: SparkSession, ns: Namespace) -> None:
    frame = sql(spark, ns, "SELECT count(*), sum(x) FROM keys WHERE id IN (5, 6)")
    assert scans(frame) == []
    assert frame.collect() == [(2, 11)]


def test_days_after_the_year_9999(spark: SparkSession, ns: Namespace) -> None:
    ns.create_table("future", pa.table({"day": pa.array([3_000_000, 1, None], pa.int32()).cast(pa.date32())}))
    frame = sql(spark, ns, "SELECT max(day) AS last, min(day) AS first FROM future")
    assert is_pushed(frame)
    assert frame.selectExpr("year(last)", "year(first)").collect() == [(10183, 1970)]

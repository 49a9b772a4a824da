"""Queries over tables of a namespace: what they answer, and what their scans read for it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableNotFoundError

from lancespace import connect
from lancespace_spark import attach, sql
from plugins.spark.tests.plans import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    with connect("dir", {"root": str(tmp_path_factory.mktemp("sql"))}) as namespace:
        namespace.create_namespace("sales")
        orders = {"id": range(100), "customer": [n % 7 for n in range(100)], "price": [n * 1.5 for n in range(100)]}
        namespace.create_table("sales.orders", pa.table(orders))
        names = {"id": range(7), "name": [f"c{n}" for n in range(7)], "small": pa.array(range(7), pa.uint8())}
        namespace.create_table("sales.customers", pa.table(names))
        shifted = {"p": range(50, 60), "q": range(10), "r": range(90, 100)}
        namespace.create_table("shifted", pa.table(shifted))
        yield namespace


def scans(frame: DataFrame) -> list[tuple[set[str], str | None]]:
    """The columns and the filter of each scan of a plan, in no order."""
    return [(one.columns, one.condition) for one in shown(frame)]


def answer(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_only_the_columns_and_rows_that_are_needed_are_read(spark: SparkSession, ns: Namespace) -> None:
    frame = sql(spark, ns, "SELECT sum(price) FROM sales.orders WHERE id >= 90 AND customer = 3")
    assert scans(frame) == [({"id", "customer", "price"}, "((`id` >= 90) AND (`customer` = 3))")]
    assert answer(frame) == [(94 * 1.5,)]
    counted = sql(spark, ns, "SELECT count(*) FROM sales.orders WHERE price > 3")
    assert scans(counted) == [({"price"}, "((`price` >= 2.999997 OR isnan(`price`)))")]
    assert answer(counted) == [(97,)]


def test_joins_read_what_each_side_needs(spark: SparkSession, ns: Namespace) -> None:
    frame = sql(
        spark,
        ns,
        "SELECT c.name, count(*) FROM sales.orders o JOIN sales.customers AS c ON o.customer = c.id "
        "WHERE o.id < 14 AND c.name <> 'c0' GROUP BY c.name",
    )
    needed = {frozenset(columns) for columns, _ in scans(frame)}
    assert needed == {frozenset({"id", "customer"}), frozenset({"id", "name"})}
    assert answer(frame) == [(f"c{number}", 2) for number in range(1, 7)]


QUERIES = {
    "self join": "SELECT a.id AS x, b.id AS y FROM sales.orders a JOIN sales.orders b ON a.id = b.id + 1 "
    "WHERE a.id < 3 AND b.id > 0",
    "two filters": "SELECT a.id FROM (SELECT id FROM sales.orders WHERE id < 10) a "
    "JOIN (SELECT id FROM sales.orders WHERE id > 7) b ON a.id = b.id",
    "union": "SELECT id FROM sales.orders WHERE id < 2 UNION ALL SELECT id FROM sales.orders WHERE id > 98",
    "subquery": "SELECT id FROM sales.orders WHERE price > (SELECT avg(price) * 1.9 FROM sales.orders)",
    "exists": "SELECT name FROM sales.customers c WHERE EXISTS (SELECT 1 FROM sales.orders o "
    "WHERE o.customer = c.id AND o.id > 96)",
    "in": "SELECT id FROM sales.orders WHERE customer IN (SELECT id FROM sales.customers WHERE name = 'c4') "
    "AND id < 30",
    "with": "WITH big AS (SELECT * FROM sales.orders WHERE id >= 95) SELECT a.id FROM big a JOIN big b ON a.id = b.id "
    "WHERE b.price < 146",
    "window": "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY customer ORDER BY id DESC) AS n "
    "FROM sales.orders) x WHERE n = 1",
    "no alias": "SELECT orders.id FROM sales.orders WHERE orders.id = 5",
    "quoted": "SELECT `id` FROM `sales`.`orders` WHERE `id` IN (1, 2, NULL)",
    "left join": "SELECT o.id, c.name FROM sales.orders o LEFT JOIN sales.customers c "
    "ON o.customer = c.id AND c.id > 5 WHERE o.id < 8",
    "unsigned": "SELECT name FROM sales.customers WHERE small > -5 AND small < 300 AND small >= 5",
}


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_those_of_datafusion(spark: SparkSession, ns: Namespace, name: str) -> None:
    expected = sorted(tuple(row.values()) for row in ns.sql(QUERIES[name]).read_all().to_pylist())
    assert expected
    assert answer(sql(spark, ns, QUERIES[name])) == expected


def test_columns_keep_their_places(spark: SparkSession, ns: Namespace) -> None:
    """A scan with fewer columns must not change what a number or a place in a UNION means."""
    frame = sql(spark, ns, "SELECT * FROM sales.orders WHERE id = 1")
    assert frame.columns == ["id", "customer", "price"]
    first = "SELECT price FROM (SELECT * FROM sales.orders ORDER BY 1 DESC LIMIT 1)"
    assert answer(sql(spark, ns, first)) == [(99 * 1.5,)]
    second = "SELECT price FROM (TABLE sales.orders ORDER BY 2, 1 LIMIT 2)"
    assert answer(sql(spark, ns, second)) == [(0.0,), (7 * 1.5,)]
    union = "SELECT sum(customer) FROM (SELECT * FROM sales.orders UNION ALL SELECT * FROM shifted)"
    assert answer(sql(spark, ns, union)) == [(sum(n % 7 for n in range(100)) + sum(range(10)),)]


def test_every_mention_of_a_table_is_of_the_same_version(spark: SparkSession, ns: Namespace) -> None:
    ns.create_table("sales.live", pa.table({"id": range(10)}))
    frame = sql(spark, ns, "SELECT count(*) FROM sales.live a JOIN sales.live b ON a.id = b.id")
    ns.insert_into_table("sales.live", pa.table({"id": range(10, 20)}))
    assert answer(frame) == [(10,)]
    assert answer(sql(spark, ns, "SELECT count(*) FROM sales.live")) == [(20,)]


def test_tables_of_spark_can_be_joined(spark: SparkSession, ns: Namespace) -> None:
    spark.range(3).createOrReplaceTempView("chosen")
    assert answer(sql(spark, ns, "SELECT o.id FROM sales.orders o JOIN chosen USING (id)")) == [(0,), (1,), (2,)]


def test_an_unknown_table_is_told_with_names_that_are_near(spark: SparkSession, ns: Namespace) -> None:
    with pytest.raises(TableNotFoundError, match=r"'sales\.order'. Near: sales\.orders"):
        sql(spark, ns, "SELECT * FROM sales.order")
    with pytest.raises(TableNotFoundError, match=r"'a\.b\.c'"):
        sql(spark, ns, "SELECT * FROM a.b.c")


@pytest.mark.parametrize(
    "command",
    [
        "CREATE TEMPORARY VIEW copied AS SELECT * FROM sales.orders",
        "WITH some AS (SELECT * FROM sales.orders) INSERT INTO elsewhere SELECT * FROM some",
        "DROP TABLE sales.orders",
    ],
)
def test_commands_are_refused_before_they_do_anything(spark: SparkSession, ns: Namespace, command: str) -> None:
    with pytest.raises(InvalidInputError, match="answers queries, and this is a command"):
        sql(spark, ns, command)
    assert not spark.catalog.tableExists("copied")


def test_namespaces_may_be_deep(spark: SparkSession, ns: Namespace) -> None:
    ns.create_namespace("sales.eu")
    ns.create_table("sales.eu.orders", pa.table({"id": range(5)}))
    assert answer(sql(spark, ns, "SELECT max(orders.id) FROM sales.eu.orders")) == [(4,)]


def test_an_index_answers_a_look_up_without_a_scan(spark: SparkSession, ns: Namespace) -> None:
    ns.create_table("sales.keys", pa.table({"id": range(1000), "name": [f"k{n}" for n in range(1000)]}))
    ns.create_table_scalar_index("sales.keys", column="id", index_type="BTREE")
    ns.insert_into_table("sales.keys", pa.table({"id": [77], "name": ["unindexed"]}))
    frame = sql(spark, ns, "SELECT name FROM sales.keys WHERE id = 77")
    assert scans(frame) == []
    assert answer(frame) == [("k77",), ("unindexed",)]
    nobody = sql(spark, ns, "SELECT name FROM sales.keys WHERE id = -1")
    assert (scans(nobody), answer(nobody)) == ([], [])
    joined = "SELECT k.name, o.price FROM sales.keys k JOIN sales.orders o ON k.id = o.id WHERE k.id IN (77, 78)"
    assert [columns for columns, _ in scans(sql(spark, ns, joined))] == [{"id", "price"}]
    assert answer(sql(spark, ns, joined)) == [("k77", 115.5), ("k78", 117.0), ("unindexed", 115.5)]
    many = sql(spark, ns, "SELECT count(*) FROM sales.keys WHERE id < 2000")
    assert len(scans(many)) == 1
    assert answer(many) == [(1001,)]


def test_attached_tables_are_views(spark: SparkSession, ns: Namespace) -> None:
    assert {"sales.orders", "shifted"} <= set(attach(spark, ns))
    assert answer(spark.sql("SELECT count(*) FROM `sales.orders`")) == [(100,)]
    below = set(attach(spark, ns, "sales"))
    assert {f"sales.{name}" for name in ns.tables("sales")} <= below
    assert all(name.startswith("sales.") for name in below)


def test_tables_that_cannot_be_views_do_not_keep_others_from_it(spark: SparkSession, ns: Namespace) -> None:
    wide = pa.array([Decimal(1)], pa.decimal256(60, 2))
    ns.create_namespace("mixed")
    ns.create_table("mixed.wide", pa.table({"id": [1], "amount": wide}))
    ns.create_table("mixed.whole", pa.table({"id": [1]}))
    ns.declare_table("mixed.declared")
    with pytest.warns(UserWarning, match=r"is not attached|no type for") as warned:
        assert attach(spark, ns, "mixed") == ["mixed.whole", "mixed.wide"]
    said = " ".join(str(one.message) for one in warned)
    assert "'mixed.declared' is not attached" in said
    assert "'amount' (decimal256(60, 2))" in said
    assert spark.table("`mixed.wide`").columns == ["id"]

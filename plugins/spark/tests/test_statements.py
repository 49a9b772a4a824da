"""What may be written in a statement: all that Spark understands, with the tables of a namespace by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lance_namespace import InvalidInputError, TableSchemaValidationError

from lancespace import connect
from lancespace_spark import attach, import_table, register, session, sql, upsert
from plugins.spark.tests.test_sql import answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    with connect("dir", {"root": str(tmp_path_factory.mktemp("statements"))}) as namespace:
        namespace.create_namespace("sales")
        namespace.create_namespace("other")
        namespace.create_table("sales.orders", pa.table({"id": range(10), "customer": range(10), "price": range(10)}))
        namespace.create_table("other.orders", pa.table({"id": [5, 1000]}))
        namespace.create_table("shifted", pa.table({"p": range(50, 60), "q": range(10)}))
        yield namespace


DEFINED = {
    "in capital letters": ("WITH SHIFTED AS (SELECT 'own' AS v) SELECT v FROM shifted", [("own",)]),
    "of a table by its name": ("WITH shifted AS (SELECT * FROM shifted WHERE q = 1) SELECT p FROM shifted", [(51,)]),
    "in a subquery only": (
        "SELECT q FROM shifted WHERE q < 2 UNION ALL SELECT * FROM (WITH shifted AS (SELECT 7) SELECT * FROM shifted)",
        [(0,), (1,), (7,)],
    ),
    "by one before": (
        "WITH a AS (SELECT 1 AS v), b AS (SELECT v + 1 AS v FROM A) SELECT a.v, b.v FROM a, b",
        [(1, 2)],
    ),
    "by itself": (
        "WITH RECURSIVE Shifted AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM shifted WHERE n < 3) TABLE shifted",
        [(1,), (2,), (3,)],
    ),
}


@pytest.mark.parametrize("case", DEFINED)
def test_names_that_a_statement_defines_go_first(spark: SparkSession, ns: Namespace, case: str) -> None:
    statement, expected = DEFINED[case]
    assert answer(sql(spark, ns, statement)) == expected


WRITTEN = {
    "a sample": "SELECT orders.id FROM sales.orders TABLESAMPLE (100 PERCENT) WHERE id = 5",
    "a sample with an alias": "SELECT x.id FROM sales.orders TABLESAMPLE (100 PERCENT) x WHERE id = 5",
    "all names": "SELECT sales.orders.id FROM sales.orders WHERE `sales`.orders.id = 5 AND 'sales.orders.id' > ''",
    "all columns": "SELECT sales.orders.* EXCEPT (customer, price) FROM sales.orders WHERE id = 5",
    "one name of two tables": "SELECT sales.orders.id FROM sales.orders JOIN other.orders "
    "ON sales.orders.id = other.orders.id",
    "a lateral view": "SELECT orders.id FROM sales.orders LATERAL VIEW explode(array(1)) z AS x WHERE orders.id = 5",
    "a variable": "SELECT ${lancespace.five} AS id FROM sales.orders WHERE id = ${lancespace.five}",
    "a computed name": "SELECT id FROM IDENTIFIER('sales.' || 'orders') WHERE id = 5",
    "a pipe": "TABLE sales.orders |> WHERE id = 5 |> SELECT id",
}


@pytest.mark.parametrize("case", WRITTEN)
def test_what_spark_understands(spark: SparkSession, ns: Namespace, case: str) -> None:
    spark.conf.set("lancespace.five", "5")
    assert answer(sql(spark, ns, WRITTEN[case])) == [(5,)]


def test_parameters(spark: SparkSession, ns: Namespace) -> None:
    named = "SELECT id, :word FROM IDENTIFIER(:table) WHERE id = :id"
    assert answer(sql(spark, ns, named, {"word": "w", "table": "sales.orders", "id": 5})) == [(5, "w")]
    assert answer(sql(spark, ns, "SELECT id, ? FROM sales.orders WHERE id = ?", ["w", 5])) == [(5, "w")]


def test_files_are_sparks(spark: SparkSession, ns: Namespace, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [5, 1000]}), tmp_path / "some.parquet")
    statement = f"SELECT o.id FROM sales.orders o JOIN parquet.`{tmp_path}/some.parquet` f ON o.id = f.id"
    assert answer(sql(spark, ns, statement)) == [(5,)]


def test_columns_of_types_that_spark_lacks_are_left_out(spark: SparkSession, ns: Namespace) -> None:
    wide = pa.array([Decimal(1), Decimal(2)], pa.decimal256(60, 2))
    ns.create_table("sales.wide", pa.table({"id": [1, 2], "amount": wide}))
    assert answer(sql(spark, ns, "SELECT count(*) FROM sales.wide")) == [(2,)]
    assert answer(sql(spark, ns, "SELECT * FROM sales.wide WHERE id = 2")) == [(2,)]
    with pytest.raises(TableSchemaValidationError, match=r"'amount' of the table 'sales\.wide'.*decimal256"):
        sql(spark, ns, "SELECT amount FROM sales.wide")


def test_errors_name_the_tables_of_the_statement(spark: SparkSession, ns: Namespace) -> None:
    with pytest.raises(InvalidInputError) as caught:
        sql(spark, ns, "SELECT nope FROM sales.orders PIVOT (count(price) FOR customer IN (1, 2))")
    assert "lancespace_" not in str(caught.value)


@pytest.mark.parametrize("given", [None, 1, "x", object()])
def test_wrong_arguments_are_errors_of_the_spec(spark: SparkSession, ns: Namespace, given: Any) -> None:
    frame = spark.range(1)
    calls: list[Callable[[], object]] = [
        lambda: sql(spark, ns, given),
        lambda: sql(spark, given, "SELECT 1"),
        lambda: attach(spark, given),
        lambda: upsert(spark, given, "sales.orders", frame, ["id"]),
        lambda: upsert(spark, ns, "sales.orders", given, ["id"]),
        lambda: import_table(given, "sales.new", query="SELECT 1"),
        lambda: session({"spark.app.name": "x", "spark.master": given}),
        lambda: register(given),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError):
            call()

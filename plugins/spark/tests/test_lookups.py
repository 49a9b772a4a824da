"""Queries that look for a few rows by an index: what they answer is what Spark alone does, and no task reads for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lancespace import connect
from lancespace_spark import sql
from plugins.spark.tests.data import read
from plugins.spark.tests.test_aggregates import is_pushed
from plugins.spark.tests.test_predicates import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

FOUND = {
    "all columns": "SELECT * FROM keys WHERE id = 5",
    "some, in another order": "SELECT text, id FROM keys WHERE id = 5",
    "one twice": "SELECT id, text, id FROM keys WHERE id = 5",
    "in capital letters": "SELECT ID, Text FROM keys WHERE Id = 5",
    "qualified": "SELECT k.* FROM keys AS k WHERE k.id = 5",
    "several": "SELECT id, vector FROM keys WHERE id IN (5, 6, 1000000)",
    "none": "SELECT * FROM keys WHERE id = -1",
    "by another column": "SELECT id FROM keys WHERE `Mixed Case` = 'k7'",
    "many": "SELECT id FROM keys WHERE id IN (5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)",
    "from below": "SELECT id FROM (SELECT * FROM keys) WHERE id = 5",
}
LEFT = {
    "contradiction": "SELECT id FROM keys WHERE id = 5 AND id = 6",
    "another name": "SELECT id AS other FROM keys WHERE id = 5",
    "computed": "SELECT id + 1 FROM keys WHERE id = 5",
    "sorted": "SELECT id FROM keys WHERE id IN (5, 6) ORDER BY id DESC LIMIT 1",
    "a part is Spark's": "SELECT id FROM keys WHERE id IN (5, 6, 7) AND real > 0.5",
    "not certain": "SELECT id, small FROM keys WHERE id < 200 AND (small NOT IN (0, 127) OR small NOT IN (1, -1))",
    "grouped": "SELECT text, count(*) FROM keys WHERE id IN (5, 6) GROUP BY text",
    "joined with itself": "SELECT a.id FROM keys a JOIN keys b ON a.id = b.id WHERE a.id = 5",
    "in a subquery": "SELECT 1 WHERE EXISTS (SELECT 1 FROM keys WHERE id = 5)",
}


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    table = rows(random.Random(5))
    count = table.num_rows
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(range(2 * count), pa.float32()), 2)
    table = table.append_column("id", pa.array(range(count), pa.int64())).append_column("vector", vectors)
    table = table.append_column("Mixed Case", pa.array([f"k{number}" for number in range(count)]))
    with connect("dir", {"root": str(tmp_path_factory.mktemp("keys"))}) as namespace:
        namespace.create_table("keys", table)
        for column in ("id", "Mixed Case"):
            namespace.create_table_scalar_index("keys", column=column, index_type="BTREE")
        yield namespace


@pytest.fixture(scope="module")
def alone(spark: SparkSession, ns: Namespace) -> None:
    """The same table in Spark, with all its rows."""
    local = spark.createDataFrame(read(spark, ns.connection_args()[1]["root"], "keys").toArrow())
    local.createOrReplaceTempView("keys_alone")


def shown(frame: DataFrame) -> tuple[list[tuple[str, str]], list[str]]:
    types = [(field.name, field.dataType.simpleString()) for field in frame.schema]
    return types, sorted(map(repr, frame.collect()))


def is_local(frame: DataFrame) -> bool:
    """Whether the rows are part of the plan, and nothing is done to them."""
    plan = frame._jdf.queryExecution().analyzed()
    return str(plan.nodeName()) == "SubqueryAlias" and str(plan.child().nodeName()) == "LocalRelation"


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("case", [*FOUND, *LEFT])
def test_answers_are_those_of_spark_alone(spark: SparkSession, ns: Namespace, case: str) -> None:
    statement = {**FOUND, **LEFT}[case]

    frame = sql(spark, ns, statement)

    assert shown(frame) == shown(spark.sql(statement.replace("keys", "keys_alone")))
    assert is_local(frame) == (case in FOUND)


@pytest.mark.usefixtures("alone")
def test_aggregates_do_not_mind_capital_letters(spark: SparkSession, ns: Namespace) -> None:
    statement = "SELECT sum(ID), max(`mixed case`), count(TEXT) FROM keys WHERE Small >= 0"

    frame = sql(spark, ns, statement)

    assert is_pushed(frame)
    assert shown(frame) == shown(spark.sql(statement.replace("keys", "keys_alone")))


def test_what_is_found_can_be_qualified_as_before(spark: SparkSession, ns: Namespace) -> None:
    assert sql(spark, ns, "SELECT o.id FROM keys AS o WHERE id = 5").select("o.id").collect() == [(5,)]
    assert sql(spark, ns, "SELECT id FROM keys WHERE id = 5").select("keys.id").collect() == [(5,)]

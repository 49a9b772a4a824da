"""Conditions that Lance evaluates for Spark: they must never lose a row that Spark would keep."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lancespace import connect
from lancespace_spark import sql
from plugins.spark.tests.data import read
from plugins.spark.tests.test_sql import answer, scans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace

STRINGS = ["", "a", "it's", 'say "x"', "50%_off", "back\\\\slash", "Ünï", "`tick`", "aa"]
DAYS = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1, 1, 1)]
FLOATS = [0.0, -0.0, float("nan"), 1.5, float("inf"), -1.5]
REALS = ["0.0D", "-0.0D", "double('NaN')", "1.5D"]
PATTERNS = ["'a%'", "'%f'", "'%a%'", "'a'", "'50\\\\%%'"]
ROWS, CONDITIONS = 300, 36


def rows(chance: random.Random) -> pa.Table:
    def some(values: list[object]) -> list[object]:
        return [chance.choice([*values, None]) for _ in range(ROWS)]

    return pa.table(
        {
            "n": pa.array(range(ROWS), pa.int64()),
            "small": pa.array(some([-128, -1, 0, 1, 127]), pa.int8()),
            "unsigned": pa.array(some([0, 1, 255]), pa.uint8()),
            "big": pa.array(some([-(2**63), -1, 0, 2**63 - 1]), pa.int64()),
            "text": pa.array(some([value.replace("\\\\", "\\") for value in STRINGS]), pa.string()),
            "kind": pa.array(some(["x", "y"]), pa.string()).dictionary_encode(),
            "day": pa.array(some(list(DAYS)), pa.date32()),
            "real": pa.array(some(list(FLOATS)), pa.float64()),
            "flag": pa.array(some([True, False]), pa.bool_()),
            "cost": pa.array(some([Decimal("1.10"), Decimal("-2.00")]), pa.decimal128(9, 2)),
            "moment": pa.array(some([1_704_085_200_000, -86_400_000]), pa.timestamp("ms", "UTC")),
            "odd name": pa.array(some([1, 2]), pa.int32()),
        }
    )


def quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def condition(chance: random.Random, depth: int = 2) -> str:
    """A random condition, of the kinds that people write."""
    if depth and chance.random() < 0.6:
        left, right = condition(chance, depth - 1), condition(chance, depth - 1)
        return chance.choice([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"])
    compare = chance.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    text, day = quoted(chance.choice(STRINGS)), f"DATE '{chance.choice(DAYS).isoformat()}'"
    return chance.choice(
        [
            f"small {compare} {chance.choice([-129, -128, 0, 1, 300])}",
            f"unsigned {compare} {chance.choice([-1, 0, 255, 256])}",
            f"big {compare} {chance.choice([-1, 0, 2**63 - 1])}",
            f"big {compare} small",
            f"text {compare} {text}",
            f"kind {compare} 'x'",
            f"day {compare} {day}",
            f"real {compare} {chance.choice(REALS)}",
            f"`odd name` {compare} 1",
            f"text LIKE {chance.choice(PATTERNS)}",
            f"contains(text, {text})",
            f"startswith(text, {text})",
            f"small IN (-128, 1, {chance.choice(['NULL', '5'])})",
            f"text {chance.choice(['', 'NOT '])}IN ({text}, 'a')",
            f"(text NOT IN ({text}, 'aa') OR text NOT IN ('a', ''))",
            f"(small NOT IN (-128, {chance.choice([0, 1])}) OR small NOT IN (127, -1))",
            f"big IN ({', '.join(map(str, range(-1, 11)))})",
            f"cost {compare} {chance.choice(['1.1', '-2', '0'])}",
            f"moment {compare} TIMESTAMP '{chance.choice(['2024-01-01 05:00:00Z', '1970-01-01'])}'",
            f"day BETWEEN DATE '1970-01-01' AND {day}",
            "flag",
            f"flag {compare} true",
            f"{chance.choice(['small', 'text', 'day', 'real', 'flag'])} IS {chance.choice(['', 'NOT '])}NULL",
        ]
    )


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    with connect("dir", {"root": str(tmp_path_factory.mktemp("predicates"))}) as namespace:
        namespace.create_table("t", rows(random.Random(1)))
        namespace.create_table_scalar_index("t", column="small", index_type="BTREE")
        namespace.create_table_scalar_index("t", column="text", index_type="BITMAP")
        yield namespace


@pytest.mark.parametrize("seed", range(2))
def test_random_conditions_keep_the_rows_that_spark_alone_keeps(spark: SparkSession, ns: Namespace, seed: int) -> None:
    chance = random.Random(seed)
    chosen = [condition(chance) for _ in range(CONDITIONS)]
    read(spark, ns.connection_args()[1]["root"], "t").createOrReplaceTempView("alone")
    union = " UNION ALL ".join(f"SELECT {number} AS c, n FROM {{t}} WHERE {one}" for number, one in enumerate(chosen))
    pushed = sql(spark, ns, union.format(t="t"))
    expected = answer(spark.sql(union.format(t="alone")))
    found = answer(pushed)
    wrong = {number for number, _ in set(found) ^ set(expected)}
    assert found == expected, [chosen[int(str(number))] for number in wrong]
    assert sum(condition is not None for _, condition in scans(pushed)) > CONDITIONS // 3


PUSHED = {
    "n IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)": "`n` IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)",
    "cost > 1": "`cost` > CAST('1.00' AS decimal(9,2))",
    "moment < TIMESTAMP '2024-06-01 00:00:00'": "`moment` <= timestamp '2024-06-03 00:00:00'",
    "flag = true": "`flag`",
    "NOT flag": "NOT `flag`",
    "n <=> 3": "`n` = 3",
    "real > 1": "isnan(`real`)",
}


@pytest.mark.parametrize("written", PUSHED)
def test_conditions_that_lance_evaluates(spark: SparkSession, ns: Namespace, written: str) -> None:
    ((_, text),) = scans(sql(spark, ns, f"SELECT n + 1 FROM t WHERE {written}"))
    assert PUSHED[written] in str(text)

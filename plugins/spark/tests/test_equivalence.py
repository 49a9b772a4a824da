"""Random queries over tables of a namespace: their answers must be those of plain Spark over the same rows."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lancespace import connect
from lancespace_spark import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace

VALUES: dict[str, tuple[pa.DataType, list[object]]] = {
    "i": (pa.int32(), [-3, -1, 0, 1, 2, 7]),
    "j": (pa.int64(), [-3, -1, 0, 1, 2, 7]),
    "s": (pa.string(), ["", "a", "A", "it's", "a%b", "a\\b", "😀"]),
    "d": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(1, 1, 1)]),
    "b": (pa.bool_(), [True, False]),
    "f": (pa.float64(), [0.0, -0.0, float("nan"), 1.5]),
    "g": (pa.float32(), [0.0, float("nan"), 0.1, -2.5]),
    "m": (pa.decimal128(9, 2), [Decimal("1.10"), Decimal("-2.00")]),
    "t": (pa.timestamp("us", tz="UTC"), [1_704_085_200_000_000, -1]),
    "l": (pa.timestamp("ns"), [1_704_085_200_000_000_000, -86_400_000_000_000]),
}
COLUMNS = ["id", "k", *VALUES]
LITERALS = {
    "id": ["0", "3", "10", "50"],
    "k": ["0", "1"],
    "i": ["-3", "0", "1", "2", "100"],
    "j": ["-3", "0", "1", "2", "100"],
    "s": ["''", "'a'", "'A'", "'it\\'s'", "'a\\\\b'", "'😀'"],
    "d": ["DATE '1969-12-31'", "DATE '2024-02-29'", "DATE '1900-01-01'"],
    "b": ["true", "false"],
    "f": ["0D", "-0D", "1.5D", "double('NaN')"],
    "g": ["0F", "0.1F", "-2.5F", "0.1D"],
    "m": ["1.1", "-2", "0.005"],
    "t": ["TIMESTAMP '2024-01-01 05:00:00Z'", "TIMESTAMP '1970-01-01 00:00:00'"],
    "l": ["TIMESTAMP_NTZ '2024-01-01 05:00:00'", "TIMESTAMP_NTZ '1970-01-01 00:00:00'"],
}
STATEMENTS, SEED = 20, 0


def table(chance: random.Random, rows: int) -> pa.Table:
    """Rows with nulls in all columns but the first two, the second of which Spark knows to have none."""
    columns = {name: [chance.choice([*values, None]) for _ in range(rows)] for name, (_, values) in VALUES.items()}
    schema = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("k", pa.int32(), nullable=False),
            *((name, kind) for name, (kind, _) in VALUES.items()),
        ]
    )
    return pa.table({"id": range(rows), "k": [number % 3 for number in range(rows)], **columns}, schema=schema)


def condition(chance: random.Random, of: str, depth: int = 2) -> str:
    if depth and chance.random() < 0.6:
        left, right = condition(chance, of, depth - 1), condition(chance, of, depth - 1)
        return chance.choice([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"])
    name = chance.choice(COLUMNS)
    literals, column = LITERALS[name], f"{of}.{name}"
    some, opposite = ", ".join(chance.choices(literals, k=chance.choice([1, 2, 12]))), chance.choice(["", "NOT "])
    compare = chance.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    return chance.choice(
        [
            f"{column} IS {opposite}NULL",
            f"{column} {opposite}IN ({some})",
            f"{column} {opposite}IN ({some})",
            f"({column} {opposite}IN ({some}) OR {column} {opposite}IN ({chance.choice(literals)}))",
            f"{column} IN ({some}, NULL)",
            f"{column} {compare} {chance.choice(literals)}",
            f"{column} {compare} {chance.choice(literals)}",
            f"{of}.i {compare} {of}.j",
            f"{of}.s {opposite}LIKE 'a%'",
            f"{opposite}{of}.b",
        ]
    )


def aggregate(chance: random.Random, of: str) -> str:
    name = chance.choice(["i", "j", "id", "k"])
    return chance.choice(
        ["count(*)", f"count({of}.{chance.choice(COLUMNS)})", f"sum({of}.{name})", f"max({of}.s)", f"min({of}.d)"]
    )


def alone(chance: random.Random) -> str:
    """A statement that may be answered without a scan, or by a row of each task."""
    where = " AND ".join(condition(chance, "x", chance.choice([0, 0, 1])) for _ in range(chance.choice([1, 2])))
    if chance.random() < 0.5:
        return f"SELECT {aggregate(chance, 'x')}, {aggregate(chance, 'x')} FROM large x WHERE {where}"
    keys = ", ".join(str(chance.randrange(90)) for _ in range(12))
    return f"SELECT x.id, x.{chance.choice(COLUMNS)} FROM large x WHERE x.id IN ({keys}) AND {where}"


def together(chance: random.Random) -> str:
    """A statement with several tables or steps."""
    one, other = chance.choices(["large", "small"], k=2)
    join = chance.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT ANTI JOIN"])
    shown = "x" if "ANTI" in join else "y"
    on, where = condition(chance, chance.choice("xy"), 1), condition(chance, "x", 1)
    name, exists = chance.choice(COLUMNS), chance.choice(["EXISTS", "NOT EXISTS"])
    counted, again = aggregate(chance, "y"), condition(chance, "y", 1)
    ranked = f"SELECT x.*, row_number() OVER (PARTITION BY x.i ORDER BY x.id) AS n FROM {one} x WHERE {where}"
    chosen = f"SELECT * FROM {one} x WHERE {where}"
    counts = f"SELECT i, count(*) AS n FROM {other} y WHERE {again} GROUP BY 1"
    within = f"SELECT x.j FROM {other} x WHERE {where}"
    return chance.choice(
        [
            f"SELECT x.id, {shown}.{name} FROM {one} x {join} {other} y ON x.id = y.id AND {on} WHERE {where}",
            f"SELECT x.{name}, {aggregate(chance, 'x')} FROM {one} x WHERE {where} GROUP BY 1",
            f"SELECT x.id FROM {one} x WHERE {exists} (SELECT 1 FROM {other} y WHERE y.i = x.i AND {on}) AND {where}",
            f"SELECT x.id FROM {one} x WHERE x.j {chance.choice(['IN', 'NOT IN'])} ({within})",
            f"WITH {one.upper()} AS ({chosen}) SELECT y.s FROM {one} x JOIN {other} y ON x.id = y.id WHERE {on}",
            f"SELECT z.id, z.n FROM ({ranked}) z WHERE z.n < 3 AND {condition(chance, 'z', 1)}",
            f"SELECT count(x.k), (SELECT {counted} FROM {other} y WHERE {again}) FROM {one} x WHERE {where}",
            f"SELECT count(y.k) FROM {one} x LEFT JOIN (SELECT * FROM {other} ) y ON x.id = y.j WHERE {where}",
            f"SELECT x.{name}, x.k FROM (SELECT * FROM {one} UNION ALL SELECT * FROM {other} ) x WHERE {where}",
            f"SELECT x.{name} FROM (SELECT * FROM {one} ORDER BY 1 DESC LIMIT 20) x WHERE {where}",
            f"SELECT x.{name}, x.n FROM (SELECT l.*, r.n FROM {one} l JOIN ({counts}) r USING (i)) x WHERE {where}",
            f"SELECT x.id, x.i FROM {one} x WHERE {where} UNION SELECT y.i, y.j FROM {other} y WHERE {again}",
        ]
    )


@pytest.fixture(scope="module")
def ns(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """Tables with indexes, rows that these lack, and deleted rows; Spark has the same as ``plain_…``."""
    chance = random.Random(1)
    with connect("dir", {"root": str(tmp_path_factory.mktemp("equivalence"))}) as namespace:
        for name, rows, indexed in (("large", 90, "id i f m t:BTREE s:BITMAP"), ("small", 40, "j:ZONEMAP s:BTREE")):
            content = table(chance, rows)
            namespace.create_table(name, content.slice(0, rows // 3))
            for column, _, kind in (one.partition(":") for one in indexed.split()):
                namespace.create_table_scalar_index(name, column=column, index_type=kind or "BTREE")
            namespace.insert_into_table(name, content.slice(rows // 3))
            namespace.delete_from_table(name, predicate="id % 9 = 4")
            kept = content.filter(pa.array([number % 9 != 4 for number in range(rows)]))
            kept = kept.set_column(kept.column_names.index("l"), "l", kept["l"].cast(pa.timestamp("us")))
            spark.createDataFrame(kept).createOrReplaceTempView(f"plain_{name}")
        yield namespace


def answers(spark: SparkSession, ns: Namespace, statement: str) -> tuple[list[str], list[str]]:
    """Ours and plain Spark's."""
    frames = sql(spark, ns, statement), spark.sql(plain(statement))
    ours, expected = (sorted(map(repr, frame.collect())) for frame in frames)
    return ours, expected


def plain(statement: str) -> str:
    for name in ("large", "small"):
        statement = statement.replace(f" {name} ", f" plain_{name} ").replace(f" {name.upper()} ", f" plain_{name} ")
    return statement


@pytest.mark.parametrize("kind", [alone, together])
def test_answers_are_those_of_plain_spark(
    spark: SparkSession, ns: Namespace, kind: Callable[[random.Random], str]
) -> None:
    chance = random.Random(SEED)
    for _ in range(STATEMENTS):
        statement = kind(chance)
        ours, expected = answers(spark, ns, statement)
        assert ours == expected, statement

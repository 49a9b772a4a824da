"""Statements whose meaning depends on columns that their answers do not need: those keep their places, unread.

Each is answered as plain Spark does on the same rows, which looks at all columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lancespace import connect
from lancespace_spark import sql
from lancespace_spark.types import VECTOR_SIZE
from plugins.spark.tests.test_sql import scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("k", pa.int32(), nullable=False),
        pa.field("s", pa.string()),
        pa.field("n", pa.string(), nullable=False),
        pa.field("o", pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.int32(), nullable=False)])),
        pa.field("v", pa.list_(pa.float32(), 2)),
        pa.field("w", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("x", pa.float64()),
    ]
)
OTHER = pa.schema([pa.field("x", pa.float64()), pa.field("k", pa.int32(), nullable=False), pa.field("y", pa.int64())])


def rows(count: int) -> pa.Table:
    """Nulls wherever they may be, and zeros where they may not."""
    columns = {
        "id": [None if n % 7 == 3 else n for n in range(count)],
        "k": [n % 3 for n in range(count)],
        "s": [None if n % 4 == 1 else f"s{n % 5}" for n in range(count)],
        "n": [f"n{n % 2}" for n in range(count)],
        "o": [None if n % 5 == 2 else {"a": None if n % 3 else n, "b": n} for n in range(count)],
        "v": [None if n % 6 == 4 else [n, n + 0.5] for n in range(count)],
        "w": [[n] * (n % 3) for n in range(count)],
        "x": [None if n % 8 == 5 else n / 2 for n in range(count)],
    }
    return pa.table(columns, schema=SCHEMA)


def others(count: int) -> pa.Table:
    columns = {"x": [n / 2 for n in range(count)], "k": [n % 3 for n in range(count)], "y": range(count)}
    return pa.table(columns, schema=OTHER)


@pytest.fixture(scope="module")
def ns(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """Two tables alike, one of which has an index, and another; Spark has the same as ``plain_…``."""
    with connect("dir", {"root": str(tmp_path_factory.mktemp("places"))}) as namespace:
        for name, content in (("one", rows(40)), ("two", rows(25)), ("third", others(6))):
            namespace.create_table(name, content)
            loose = [
                pa.field(f.name, pa.list_(pa.float32()), f.nullable) if f.name == "v" else f for f in content.schema
            ]
            local = spark.createDataFrame(content.cast(pa.schema(loose)))
            local.localCheckpoint().createOrReplaceTempView(
                f"plain_{name}"
            )  # Of rows in a plan Spark computes too much.
        namespace.create_table_scalar_index("two", column="id", index_type="BTREE")
        yield namespace


def lasting(local: DataFrame) -> DataFrame:
    """The same as a relation: with rows that are in a plan Spark computes while it plans, more than it needs."""
    from pyspark.sql import DataFrame

    java, rows = local.sparkSession._jsparkSession, local._jdf.queryExecution().toRdd()
    return DataFrame(java.internalCreateDataFrame(rows, local._jdf.schema(), False), local.sparkSession)


def shown(frame: DataFrame) -> tuple[list[tuple[str, str, bool]], list[str]]:
    types = [(field.name, field.dataType.simpleString(), field.nullable) for field in frame.schema]
    return types, sorted(map(repr, frame.collect()))


def compared(spark: SparkSession, ns: Namespace, statement: str) -> list[frozenset[str]]:
    """See that a statement answers what plain Spark does; ``{one}`` and so on stand for tables. What its scans read."""
    names = ("one", "two", "third")
    frame = sql(spark, ns, statement.format(**{name: name for name in names}))
    assert shown(frame) == shown(spark.sql(statement.format(**{name: f"plain_{name}" for name in names})))
    return sorted((frozenset(columns) for columns, _ in scans(frame)), key=sorted)


READ: dict[str, tuple[str, list[str]]] = {
    "star below": ("SELECT s FROM (SELECT * FROM {one}) WHERE k = 1", ["k s"]),
    "star at the top": ("SELECT * FROM {one}", [" ".join(SCHEMA.names)]),
    "star but": ("SELECT * EXCEPT (id, o, v, w, x) FROM {one}", ["k n s"]),
    "star counted": ("SELECT count(*), count(1) FROM (SELECT * FROM {one})", []),
    "star counted, where": ("SELECT count(*) FROM (SELECT * FROM {one} ORDER BY s) WHERE x + k > 3", ["k x"]),
    "star that is never null": ("SELECT s FROM (SELECT * FROM {one}) WHERE n IS NOT NULL AND w IS NOT NULL", ["s"]),
    "star of one side": ("SELECT a.k FROM (SELECT l.*, r.y FROM {one} l JOIN {third} r USING (k)) a", ["k", "k"]),
    "star of a struct": ("SELECT a FROM (SELECT o.* FROM {one})", ["o"]),
    "star in a function": ("SELECT k FROM (SELECT k, struct(*) AS all FROM {one})", ["k"]),
    "field of a struct": ("SELECT t.o.b FROM (SELECT * FROM {one}) t WHERE t.o.a > 3", ["o"]),
    "item of a vector": ("SELECT v[1] FROM (TABLE {one})", ["v"]),
    "order by number": ("SELECT x FROM (SELECT * FROM {one} ORDER BY 2, 1, 8 LIMIT 5)", ["id k x"]),
    "group by number": ("SELECT s, count(*) FROM {one} GROUP BY 1", ["s"]),
    "union": ("SELECT sum(k) FROM (SELECT * FROM {one} UNION ALL SELECT * FROM {two})", ["k", "k"]),
    "union of tables": ("SELECT n FROM (TABLE {one} UNION ALL TABLE {two}) WHERE k = 2", ["k n", "k n"]),
    "except": ("SELECT k FROM (SELECT k, s FROM {one} EXCEPT SELECT k, s FROM {two} WHERE k > 1)", ["k s", "k s"]),
    "intersect": ("SELECT * FROM (SELECT id FROM {one} INTERSECT SELECT y FROM {third})", ["id", "y"]),
    "natural join": ("SELECT y FROM {one} NATURAL JOIN {third}", ["k x", "k x y"]),
    "using": ("SELECT t.y, s FROM {one} LEFT JOIN {third} t USING (k, x)", ["k s x", "k x y"]),
    "with": ("WITH a AS (SELECT * FROM {one}) SELECT p.k, q.s FROM a p JOIN a q ON p.id = q.id", ["id k s", "id k s"]),
    "with renamed": ("WITH a(c1, c2, c3, c4, c5, c6, c7, c8) AS (SELECT * FROM {one}) SELECT c3 FROM a", ["s"]),
    "exists": (
        "SELECT y FROM {third} t WHERE EXISTS (SELECT * FROM (SELECT * FROM {one}) i WHERE i.id = t.y)",
        ["id", "y"],
    ),
    "not exists": ("SELECT y FROM {third} t WHERE NOT EXISTS (SELECT * FROM {one} WHERE id = t.y)", ["id", "y"]),
    "in": ("SELECT y FROM {third} WHERE y IN (SELECT id FROM (SELECT * FROM {one}) WHERE s > 's1')", ["id s", "y"]),
    "not in": ("SELECT y FROM {third} WHERE y NOT IN (SELECT k FROM (TABLE {one}))", ["k", "y"]),
    "scalar": ("SELECT (SELECT max(x) FROM (SELECT * FROM {one} WHERE k = 1)) FROM {third} WHERE y < 2", ["k x", "y"]),
    "scalar, correlated": (
        "SELECT y, (SELECT count(*) FROM (SELECT * FROM {one}) i WHERE i.k = t.k) FROM (SELECT * FROM {third}) t",
        ["k", "k y"],
    ),
    "lateral": ("SELECT y, l.s FROM {third} t, LATERAL (SELECT * FROM {one} WHERE id = t.y) l", ["id s", "y"]),
    "lateral view": ("SELECT item FROM (SELECT * FROM {one}) LATERAL VIEW explode(w) AS item", ["w"]),
    "pivot": ("SELECT * FROM (SELECT s, k, x FROM {one}) PIVOT (sum(x) FOR k IN (0, 1))", ["k s x"]),
    "unpivot": ("SELECT * FROM {third} UNPIVOT (val FOR col IN (x))", ["k x y"]),
    "window": (
        "SELECT s, r FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x, n, id) AS r FROM {one}) WHERE r < 3",
        ["id k n s x"],
    ),
    "window that is not needed": ("SELECT s FROM (SELECT *, max(x) OVER (PARTITION BY k) FROM {one})", ["s"]),
    "distinct": ("SELECT DISTINCT n FROM (SELECT * FROM {one})", ["n"]),
    "distinct rows": ("SELECT count(*) FROM (SELECT DISTINCT * FROM {third})", ["k x y"]),
    "sample": ("SELECT k FROM (SELECT * FROM {third} TABLESAMPLE (100 PERCENT))", ["k"]),
    "outer join": ("SELECT count(r.k), count(r.n) FROM {third} LEFT JOIN {one} r ON r.id = y + 1", ["id k n", "y"]),
    "rows of an index": (
        "SELECT l.n, r.s FROM (SELECT * FROM {two}) l JOIN {one} r USING (id) WHERE l.id < 5 AND l.w IS NOT NULL",
        ["id s"],
    ),
    "rows of an index, by number": (
        "SELECT n FROM (SELECT *, size(w) > 0 FROM {two} WHERE id IN (1, 2, 4, 5) ORDER BY 2 DESC, 3, 1 LIMIT 2)",
        [],
    ),
    "contradiction": ("SELECT s FROM {one} WHERE (id = 5 AND id = 6) OR (k = 1 AND k = 2) OR x > 3", ["s x"]),
    "nothing to divide by": ("SELECT s FROM (SELECT s, 1 / k AS d, map(v, 1) AS m FROM {one})", ["s"]),
    "random, with nothing to divide by": (
        "WITH a AS (SELECT s, 1 / k AS d, map(x, n) AS m, rand() FROM {one}) SELECT p.s FROM a p JOIN a q USING (s)",
        ["s", "s"],
    ),
    "pipe": ("TABLE {one} |> WHERE k = 1 |> DROP id, o, v, w |> AGGREGATE sum(x) GROUP BY n", ["k n x"]),
    "limit": ("SELECT k FROM (SELECT * FROM {one} ORDER BY x DESC NULLS LAST, k LIMIT 4)", ["k x"]),
}


@pytest.mark.parametrize("case", READ)
def test_columns_have_their_places_and_only_those_that_are_needed_are_read(
    spark: SparkSession, ns: Namespace, case: str
) -> None:
    statement, read = READ[case]
    assert compared(spark, ns, statement) == sorted((frozenset(one.split()) for one in read), key=sorted)


def test_vectors_keep_their_length(spark: SparkSession, ns: Namespace) -> None:
    for statement in (
        "SELECT * EXCEPT (x) FROM one",
        "SELECT v FROM (TABLE one) UNION ALL SELECT v FROM two WHERE id = 1",
    ):
        assert sql(spark, ns, statement).schema["v"].metadata == {VECTOR_SIZE: 2}


def test_columns_that_only_capital_letters_tell_apart(spark: SparkSession, ns: Namespace) -> None:
    ns.create_table("letters", pa.table({"a": [1, 2], "A": [3, 4], "b": [5, 6], "c": [7, 8]}))
    assert sql(spark, ns, "SELECT sum(c) FROM (SELECT * FROM letters) WHERE b > 5 GROUP BY b").collect() == [(8,)]


def test_columns_of_all_types_may_be_left_unread(spark: SparkSession, ns: Namespace) -> None:
    kinds = [
        *(pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.decimal128(38, 5), pa.string()),
        *(pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.time64("us"), pa.duration("us")),
        *(pa.list_(pa.float32(), 2), pa.list_(pa.string()), pa.map_(pa.string(), pa.int32())),
        pa.struct([pa.field("a", pa.int32(), nullable=False)]),
    ]
    columns = {f"c{number}": pa.nulls(3, kind) for number, kind in enumerate(kinds)}
    ns.create_table("kinds", pa.table({"id": range(3), **columns}))
    frame = sql(spark, ns, "SELECT max(id) FROM (SELECT * FROM kinds) WHERE id > 0 OR (c1 AND NOT c1) GROUP BY id")
    assert [sorted(columns) for columns, _ in scans(frame)] == [["id"]]
    assert sorted(frame.collect()) == [(1,), (2,)]

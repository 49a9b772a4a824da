from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace


def read(spark: SparkSession, root: str, table: str = "sales.orders", **options: str) -> DataFrame:
    return spark.read.format("lancespace").options(namespace="dir", root=root, table=table, **options).load()


def orders(count: int = 100) -> pa.Table:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([float(i) for i in range(2 * count)], pa.float32()), 2)
    return pa.table({"id": pa.array(range(count)), "name": [f"n{i}" for i in range(count)], "v": vectors})


def ids(frame: DataFrame) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


def test_all_rows_of_all_fragments_are_read(spark: SparkSession, ns: Namespace, root: str) -> None:
    ns.create_table("sales.orders", orders(100))
    ns.insert_into_table("sales.orders", orders(50))
    frame = read(spark, root)
    assert frame.count() == 150
    assert frame.where("id = 7").select("name", "v").collect() == [("n7", [14.0, 15.0])] * 2


def test_large_fragments_are_cut_and_small_ones_share_a_task(spark: SparkSession, ns: Namespace, root: str) -> None:
    ns.create_table("sales.orders", orders(1000))
    for _ in range(5):
        ns.insert_into_table("sales.orders", orders(10))
    frame = read(spark, root, partition_rows="300")
    sizes = frame.rdd.glom().map(len).collect()
    assert sum(sizes) == 1050
    assert len(sizes) == 4
    assert max(sizes) <= 400


def test_versions_tags_and_branches(spark: SparkSession, ns: Namespace, root: str) -> None:
    ns.create_table("sales.orders", orders(2))
    ns.create_table_tag("sales.orders", tag="first", version=1)
    ns.create_table_branch("sales.orders", name="try")
    ns.insert_into_table("sales.orders", orders(3))
    ns.insert_into_table("sales.orders", orders(4), branch="try")
    assert read(spark, root).count() == 5
    assert read(spark, root, version="1").count() == 2
    assert read(spark, root, tag="first").count() == 2
    assert read(spark, root, branch="try").count() == 6


def test_columns_and_filter_are_applied_in_lance(spark: SparkSession, ns: Namespace, root: str) -> None:
    ns.create_table("sales.orders", orders())
    frame = read(spark, root, columns="name,id", filter="id >= 98")
    assert frame.columns == ["name", "id"]
    assert sorted(frame.collect()) == [("n98", 98), ("n99", 99)]


def test_vector_and_full_text_search(spark: SparkSession, ns: Namespace, root: str) -> None:
    ns.create_table("sales.orders", orders())
    assert ids(read(spark, root, columns="id", vector="10,11", k="1")) == [5]
    ns.create_table_index("sales.orders", column="name", index_type="FTS")
    assert ids(read(spark, root, columns="id", full_text_query="n42")) == [42]


def test_an_unknown_column_is_refused_before_any_task(spark: SparkSession, ns: Namespace, root: str) -> None:
    ns.create_table("sales.orders", orders())
    with pytest.raises(AnalysisException, match="has no column 'price'; it has id, name, v"):
        read(spark, root, columns="price")


def test_a_missing_table_is_named(spark: SparkSession, ns: Namespace, root: str) -> None:
    assert ns.capabilities()
    with pytest.raises(AnalysisException, match=r"There is no table 'sales\.missing'"):
        read(spark, root, "sales.missing")


def test_an_option_that_makes_no_sense_is_named(spark: SparkSession, root: str) -> None:
    with pytest.raises(AnalysisException, match="the option 'version' cannot be 'soon'"):
        read(spark, root, version="soon")


TYPES: dict[str, tuple[pa.DataType, Any, Any]] = {
    "uint8": (pa.uint8(), 255, 255),
    "uint32": (pa.uint32(), 2**32 - 1, 2**32 - 1),
    "float16": (pa.float16(), 1.5, 1.5),
    "large_string": (pa.large_string(), "x", "x"),
    "binary": (pa.binary(), b"x", bytearray(b"x")),
    "decimal": (pa.decimal128(10, 2), Decimal("1.25"), Decimal("1.25")),
    "date": (pa.date32(), dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
    "timestamp": (pa.timestamp("us"), dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 1, 2, 3, 4, 5)),  # noqa: DTZ001
    "nanoseconds": (pa.timestamp("ns"), dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 1, 2, 3, 4, 5)),  # noqa: DTZ001
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), "x", "x"),
    "list": (pa.list_(pa.int64()), [1, None], [1, None]),
    "struct": (pa.struct({"a": pa.int64(), "b": pa.string()}), {"a": 1, "b": "x"}, (1, "x")),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_and_nulls(spark: SparkSession, ns: Namespace, root: str, name: str) -> None:
    kind, value, seen = TYPES[name]
    ns.create_table("sales.types", pa.table({"x": pa.array([value, None], kind)}))
    assert [row["x"] for row in read(spark, root, "sales.types").collect()] == [seen, None]

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from lancespace import connect
from plugins.spark.tests.data import TABLE, orders, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

ROWS = 1050


def ids(frame: DataFrame) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("reading"))


@pytest.fixture(scope="module")
def ns(root: str) -> Iterator[Namespace]:
    """One table for all reads: a large fragment, five small ones, a tag, a branch and two indexes."""
    with connect("dir", {"root": root}) as namespace:
        namespace.create_namespace("sales")
        namespace.create_table(TABLE, orders(0, 1000))
        namespace.create_table_tag(TABLE, tag="first", version=1)
        namespace.create_table_branch(TABLE, name="try")
        namespace.insert_into_table(TABLE, orders(0, 4), branch="try")
        for number in range(5):
            namespace.insert_into_table(TABLE, orders(1000 + 10 * number, 1010 + 10 * number))
        namespace.create_table_index(TABLE, column="name", index_type="FTS")
        namespace.create_table_scalar_index(TABLE, column="id", index_type="BTREE")
        yield namespace


def test_all_rows_of_all_fragments_are_read(spark: SparkSession, ns: Namespace, root: str) -> None:
    frame = read(spark, root)
    assert frame.count() == ns.table(TABLE).count() == ROWS
    assert frame.where("id = 7").select("name", "v").collect() == [("n7", [14.0, 15.0])]


def test_large_fragments_are_cut_and_small_ones_share_a_task(spark: SparkSession, ns: Namespace, root: str) -> None:
    assert len(ns.table(TABLE).dataset().get_fragments()) == 6
    sizes = read(spark, root, partition_rows="300").rdd.glom().map(len).collect()
    assert sum(sizes) == ROWS
    assert len(sizes) == 4
    assert max(sizes) <= 400


@pytest.mark.usefixtures("ns")
def test_versions_tags_and_branches(spark: SparkSession, root: str) -> None:
    assert read(spark, root, version="2").count() == 1010
    assert read(spark, root, tag="first").count() == 1000
    assert read(spark, root, branch="try").count() == 1004


@pytest.mark.usefixtures("ns")
def test_columns_and_filter_are_applied_in_lance(spark: SparkSession, root: str) -> None:
    frame = read(spark, root, columns="name,id", filter="id >= 1048 OR name = 'n1'")
    assert frame.columns == ["name", "id"]
    assert sorted(frame.collect()) == [("n1", 1), ("n1048", 1048), ("n1049", 1049)]


@pytest.mark.usefixtures("ns")
def test_an_index_finds_rows_while_the_read_is_planned(spark: SparkSession, root: str) -> None:
    found = read(spark, root, filter="id = 1007")
    assert found.rdd.getNumPartitions() == 1
    assert found.collect() == [(1007, "n1007", [2014.0, 2015.0])]
    assert ids(read(spark, root, filter="id IN (3, 1049, 5000)")) == [3, 1049]
    assert read(spark, root, filter="id >= 1040", partition_rows="100").count() == 10
    assert read(spark, root, filter="id >= 0", partition_rows="100").count() == ROWS  # Too many to travel with a plan.


@pytest.mark.usefixtures("ns")
def test_vector_and_full_text_search(spark: SparkSession, root: str) -> None:
    assert ids(read(spark, root, columns="id", vector="10,11", k="1")) == [5]
    assert ids(read(spark, root, columns="id", vector="[2098,2099]", k="1", tag="first")) == [999]
    assert ids(read(spark, root, columns="id", full_text_query="n42")) == [42]


def test_workers_are_forked_by_a_daemon_that_has_loaded_what_takes_long(spark: SparkSession) -> None:
    def daemon(_: int) -> str:
        import os

        return Path(f"/proc/{os.getppid()}/cmdline").read_text()

    assert "lancespace_spark.daemon" in spark.sparkContext.parallelize([0], 1).map(daemon).first()


@pytest.mark.usefixtures("ns")
def test_what_is_wrong_is_told_before_any_task(spark: SparkSession, root: str) -> None:
    with pytest.raises(AnalysisException, match="has no column 'price'; it has id, name, v"):
        read(spark, root, columns="price")
    with pytest.raises(AnalysisException, match=r"Table not found: 'sales\.missing'"):
        read(spark, root, "sales.missing")
    with pytest.raises(AnalysisException, match="the option 'version' cannot be 'soon'"):
        read(spark, root, version="soon")


TYPES: dict[str, tuple[pa.DataType, Any, Any]] = {
    "uint8": (pa.uint8(), 255, 255),
    "uint32": (pa.uint32(), 2**32 - 1, 2**32 - 1),
    "uint64": (pa.uint64(), 2**63 - 1, 2**63 - 1),
    "float16": (pa.float16(), 1.5, 1.5),
    "large_string": (pa.large_string(), "x", "x"),
    "binary": (pa.binary(), b"x", bytearray(b"x")),
    "decimal": (pa.decimal128(10, 2), Decimal("1.25"), Decimal("1.25")),
    "date": (pa.date32(), dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
    "timestamp": (pa.timestamp("us"), dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 1, 2, 3, 4, 5)),  # noqa: DTZ001
    "nanoseconds": (pa.timestamp("ns"), dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 1, 2, 3, 4, 5)),  # noqa: DTZ001
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), "x", "x"),
    "list": (pa.list_(pa.int64()), [1, None], [1, None]),
    "vector": (pa.list_(pa.float32(), 2), [1.0, 2.0], [1.0, 2.0]),
    "struct": (pa.struct({"a": pa.int64(), "b": pa.string()}), {"a": 1, "b": "x"}, (1, "x")),
}


def test_types_and_nulls(spark: SparkSession, ns: Namespace, root: str) -> None:
    columns = {name: pa.array([value, None], kind) for name, (kind, value, _) in TYPES.items()}
    ns.create_table("sales.types", pa.table({"n": [0, 1], **columns}))
    full, empty = sorted(read(spark, root, "sales.types").collect())
    assert {name: full[name] for name in TYPES} == {name: seen for name, (_, _, seen) in TYPES.items()}
    assert all(empty[name] is None for name in TYPES)


def test_a_value_that_has_no_place_in_sparks_type_fails_the_read(spark: SparkSession, ns: Namespace, root: str) -> None:
    ns.create_table("sales.large", pa.table({"x": pa.array([2**63], pa.uint64())}))
    with pytest.raises(Exception, match="column 'x'"):
        read(spark, root, "sales.large").collect()


def test_a_version_stays_as_it_was_planned(spark: SparkSession, tmp_path: Path) -> None:
    with connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.create_table("t", orders(0, 10))
        frame = read(spark, str(tmp_path), "t")
        planned = frame.where("id >= 0")
        assert planned.count() == 10
        namespace.insert_into_table("t", orders(10, 20))
        assert planned.count() == 10
        assert read(spark, str(tmp_path), "t").count() == 20

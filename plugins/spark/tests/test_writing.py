from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.functions import udf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace


def write(frame: DataFrame, root: str, mode: str = "append", table: str = "sales.orders", **options: str) -> None:
    writer = frame.write.format("lancespace").options(namespace="dir", root=root, table=table, **options)
    writer.mode(mode).save()


def numbers(spark: SparkSession, count: int = 100) -> DataFrame:
    return spark.range(0, count, 1, 4).selectExpr("id", "concat('n', id) AS name")


def versions(ns: Namespace, table: str = "sales.orders") -> list[int]:
    return [version.version for version in ns.list_table_versions(table).versions]


def files(ns: Namespace, table: str = "sales.orders") -> set[str]:
    """Every file of a table but those of its versions."""
    location = Path(ns.describe_table(table).location.removeprefix("file://"))
    found = (path.relative_to(location) for path in location.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] not in {"_versions", "_transactions"}}


def test_a_new_table_is_created_in_one_version(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root)
    assert ns.table("sales.orders").count() == 100
    assert versions(ns) == [1]


def test_appending_adds_one_version(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root)
    write(numbers(spark, 10), root)
    assert ns.table("sales.orders").count() == 110
    assert versions(ns) == [1, 2]


def test_overwriting_replaces_rows_and_columns(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root)
    write(spark.range(3).withColumnRenamed("id", "other"), root, "overwrite")
    assert ns.table("sales.orders").to_arrow().to_pydict() == {"other": [0, 1, 2]}
    assert ns.table("sales.orders").dataset(1).count_rows() == 100


def test_create_refuses_a_table_that_exists(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root, create="true")
    with pytest.raises(AnalysisException, match="exists already"):
        write(numbers(spark), root, create="true")
    assert versions(ns) == [1]


def test_no_rows_still_make_a_table(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark).limit(0), root)
    assert ns.table("sales.orders").dataset().schema.names == ["id", "name"]


def test_arrays_become_vectors_where_told_and_stay_so(spark: SparkSession, ns: Namespace, root: str) -> None:
    frame = numbers(spark, 4).selectExpr("id", "IF(id = 2, NULL, array(CAST(id AS FLOAT), 1.0F)) AS v")
    write(frame, root, vectors="v:2")
    write(frame, root)
    dataset = ns.table("sales.orders").dataset()
    assert dataset.schema.field("v").type == pa.list_(pa.float32(), 2)
    assert dataset.to_table(filter="id = 2")["v"].to_pylist() == [None, None]
    assert dataset.to_table(filter="id = 3")["v"].to_pylist() == [[3.0, 1.0], [3.0, 1.0]]


def test_vectors_of_nulls_only(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(spark.range(3).selectExpr("id", "CAST(NULL AS ARRAY<FLOAT>) AS v"), root, vectors="v:2")
    assert ns.table("sales.orders").to_arrow()["v"].to_pylist() == [None, None, None]


def test_vectors_of_another_length_are_refused(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark, 4).selectExpr("id", "array(1.0F, 2.0F) AS v"), root, vectors="v:2")
    with pytest.raises(PySparkException, match="every vector must have exactly 2 items"):
        write(numbers(spark, 4).selectExpr("id", "array(1.0F) AS v"), root)
    assert versions(ns) == [1]


def test_a_wrong_column_is_refused_before_any_task(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root)
    with pytest.raises(AnalysisException, match="the table has no column 'price'"):
        write(numbers(spark).selectExpr("id", "id * 2 AS price"), root)
    assert versions(ns) == [1]


def failing(frame: DataFrame) -> DataFrame:
    @udf("long")
    def refuse(value: int) -> int:
        if value == 99:
            raise ValueError("a bad row")
        return value

    return frame.select(refuse("id").alias("id"), "name")


def test_a_failed_write_leaves_no_file(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root)
    before = files(ns)
    with pytest.raises(PySparkException, match="a bad row"):
        write(failing(numbers(spark)), root)
    assert files(ns) == before
    assert versions(ns) == [1]


def test_a_failed_creation_leaves_no_table(spark: SparkSession, ns: Namespace, root: str) -> None:
    with pytest.raises(PySparkException, match="a bad row"):
        write(failing(numbers(spark)), root)
    assert list(ns.tables("sales")) == []
    assert [path.name for path in Path(root).iterdir()] == ["__manifest"]


def test_an_overwrite_does_not_undo_what_came_between(spark: SparkSession, ns: Namespace, root: str) -> None:
    from lance_namespace import ConcurrentModificationError

    from lancespace.handles import TableHandle
    from lancespace.jobs.stages import Stage

    write(numbers(spark), root)
    handle = TableHandle("dir", {"root": root}, ("sales", "orders"))
    ns.insert_into_table("sales.orders", numbers(spark, 5).toArrow())
    with pytest.raises((ConcurrentModificationError, OSError)):
        Stage(handle, "late", "overwrite").commit(handle.open().schema, [], read_version=1)
    assert ns.table("sales.orders").count() == 105

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException

from plugins.spark.tests.data import files, numbers, used, versions, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace


def test_creating_appending_and_overwriting_are_one_version_each(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root)
    assert (ns.table("sales.orders").count(), versions(ns)) == (100, [1])
    write(numbers(spark, 10), root)
    assert (ns.table("sales.orders").count(), versions(ns)) == (110, [1, 2])
    assert files(ns) == used(ns)
    write(spark.range(3).withColumnRenamed("id", "other"), root, "overwrite")
    assert sorted(ns.table("sales.orders").to_arrow()["other"].to_pylist()) == [0, 1, 2]
    assert ns.table("sales.orders").dataset(1).count_rows() == 100
    assert versions(ns) == [1, 2, 3]


def test_create_refuses_a_table_that_exists(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark), root, create="true")
    with pytest.raises(AnalysisException, match="already exists"):
        write(numbers(spark), root, create="true")
    assert versions(ns) == [1]


def test_no_rows_still_make_a_table(spark: SparkSession, ns: Namespace, root: str) -> None:
    write(numbers(spark).limit(0), root)
    assert ns.table("sales.orders").dataset().schema.names == ["id", "name"]


def test_decimals_beside_other_columns(spark: SparkSession, ns: Namespace, root: str) -> None:
    """Spark aligns buffers to 8 bytes, and Lance wants 16 for a decimal."""
    prices = "CAST(id AS DECIMAL(20, 2)) AS price", "array(CAST(id AS DECIMAL(30, 3))) AS more"
    frame = numbers(spark, 7).selectExpr(
        "id", "name", *prices, "named_struct('of', CAST(id AS DECIMAL(9, 1))) AS nested"
    )
    write(frame, root)
    write(frame, root)
    rows = ns.table("sales.orders").to_arrow().sort_by("id").to_pylist()
    assert [row["price"] for row in rows] == [number // 2 for number in range(14)]
    assert [(row["more"], row["nested"]["of"]) for row in rows] == [([row["id"]], row["id"]) for row in rows]


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
    def refuse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if 99 in batch["id"].to_pylist():
                raise ValueError("a bad row")

    return frame.mapInArrow(refuse, "id long, name string")


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

    from lancespace_spark.options import parse
    from lancespace_spark.writing import TableWriter, TaskMessage

    rows = numbers(spark, 5).toArrow()
    ns.create_table("sales.orders", rows)
    writer = TableWriter(parse({"root": root, "table": "sales.orders"}), numbers(spark).schema, overwrite=True)
    told = writer.write(iter(rows.to_batches()))
    assert isinstance(told, TaskMessage)
    ns.insert_into_table("sales.orders", rows)
    with pytest.raises(ConcurrentModificationError):
        writer.commit([told])
    writer.abort([told])
    assert ns.table("sales.orders").count() == 10
    assert files(ns) == used(ns)


def test_a_commit_of_which_nobody_knows_the_end_keeps_its_files(
    spark: SparkSession, ns: Namespace, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the answer to a commit is lost, its files may be part of the table: nothing may remove them."""
    from lancespace_jobs import Stage
    from lancespace_spark.options import parse
    from lancespace_spark.writing import TableWriter

    rows = numbers(spark, 5).toArrow()
    ns.create_table("sales.orders", rows)
    writer = TableWriter(parse({"root": root, "table": "sales.orders"}), numbers(spark).schema, overwrite=False)
    told = writer.write(iter(rows.to_batches()))
    commit = Stage.commit

    def lost(*arguments: object) -> int:
        commit(*arguments)  # type: ignore[arg-type]
        raise TimeoutError("no answer")

    monkeypatch.setattr(Stage, "commit", lost)
    with pytest.raises(Exception, match="no answer"):
        writer.commit([told])
    writer.abort([told])
    assert ns.table("sales.orders").to_arrow().num_rows == 10

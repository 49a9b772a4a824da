"""Machines that are lost in the middle of work: nothing is lost, nothing doubled, nothing left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lancespace import jobs
from lancespace.functions import virtual_column
from lancespace.views import building
from lancespace_spark import import_table, upsert
from plugins.spark.tests.data import TABLE, files, fill, ids, numbers, used, versions, write
from plugins.spark.tests.jobs import on_spark, succeeded
from plugins.spark.tests.killing import after, killer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace
    from plugins.spark.tests.cluster import Cluster


@pytest.fixture
def strike(tmp_path: Path, cluster: Cluster) -> Iterator[Callable[[], None]]:
    """Kills the executor that it is called on, and its worker, as when a machine dies; another worker takes its place.

    A test in which nobody was killed proves nothing.
    """
    marker = tmp_path / "marker"
    yield killer(marker, takes_worker=True)
    assert marker.exists()
    cluster.add_workers(1)


def test_a_write(spark: SparkSession, ns: Namespace, root: str, strike: Callable[[], None]) -> None:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        strike()

    frame = spark.range(0, 20_000, 1, 4).mapInArrow(rows, "id long")
    write(frame, root, max_rows_per_file="1000")
    assert ids(ns) == list(range(20_000))
    assert versions(ns) == [1]
    assert files(ns) == used(ns)


def test_an_import_from_spark(spark: SparkSession, ns: Namespace, strike: Callable[[], None]) -> None:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        strike()

    spark.range(0, 20_000, 1, 4).mapInArrow(rows, "id long").createOrReplaceTempView("struck")
    import_table(ns, TABLE, "struck").wait()
    spark.catalog.dropTempView("struck")
    assert ids(ns) == list(range(20_000))
    assert versions(ns) == [1]
    assert files(ns) == used(ns)


def test_an_upsert(spark: SparkSession, ns: Namespace, root: str, strike: Callable[[], None]) -> None:
    """Tasks that read rows prepare the process for those that write them: Spark gives it to both."""
    write(numbers(spark, 1000), root)
    before = files(ns)
    arm = after("lance.fragment:write_fragments", strike)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arm()
        yield from batches

    changed = spark.range(500, 1500, 1, 4).selectExpr("id", "'new' AS name").mapInArrow(rows, "id long, name string")
    merged = upsert(spark, ns, TABLE, changed, ["id"])
    assert (merged.updated, merged.inserted) == (500, 500)
    assert ids(ns) == list(range(1500))
    assert ns.table(TABLE).count("name = 'new'") == 1000
    assert versions(ns) == [1, 2]
    marks = {one.deletion_file() for one in ns.table(TABLE).dataset().get_fragments()} - {None}
    assert files(ns) == before | used(ns) | marks


def test_a_backfill(spark: SparkSession, ns: Namespace, root: str, strike: Callable[[], None]) -> None:
    """What the dead task wrote is left to clean-up: nobody but Lance knows of it."""
    fill(ns, fragments=4)
    arm = after("lance.fragment:LanceFragment.merge_columns", strike)

    def doubled(batch: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc

        arm()
        return pc.multiply(batch.column("id"), 2)

    ns.alter_table_add_columns(
        TABLE, new_columns=[virtual_column(doubled, inputs=["id"], outputs={"twice": pa.int64()})]
    )
    with on_spark(spark, root) as catalog:
        succeeded(catalog, catalog.alter_table_backfill_columns(TABLE, column="twice").job_id)
        assert files(ns) > used(ns)
        jobs.clean_up(catalog, TABLE, older_than=timedelta(0), is_quiet=True).wait()
    rows = ns.table(TABLE).to_arrow(columns=["id", "twice"]).to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(40))
    assert all(row["twice"] == 2 * row["id"] for row in rows)
    assert files(ns) == used(ns)


def test_a_view_refresh(spark: SparkSession, ns: Namespace, root: str, strike: Callable[[], None]) -> None:
    """As of a backfill."""
    fill(ns, fragments=4)
    arm = after("lancespace.views.tasks:write_fragments", strike)

    def words(number: int, name: str) -> list[dict[str, object]]:
        if number == 25:
            arm()
        return [{"word": f"{name} {part}"} for part in "ab"]

    fields = building.chunker(
        words,
        f"SELECT id, name FROM {TABLE}",
        pa.schema([("id", pa.int64()), ("word", pa.string())]),
        input_columns=["id", "name"],
    )
    with on_spark(spark, root) as catalog:
        catalog.create_materialized_view("sales.words", **fields)
        succeeded(catalog, catalog.refresh_materialized_view("sales.words").job_id)
        assert files(ns, "sales.words") > used(ns, "sales.words")
        jobs.clean_up(catalog, "sales.words", older_than=timedelta(0), is_quiet=True).wait()
    found = [row["word"] for row in ns.table("sales.words").to_arrow().to_pylist()]
    assert sorted(found) == sorted(f"n{number} {part}" for number in range(40) for part in "ab")
    assert files(ns, "sales.words") == used(ns, "sales.words")

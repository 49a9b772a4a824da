"""Machines that are lost in the middle of work: nothing is lost, nothing doubled, nothing left behind.

On a local disk, and in S3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lancespace_jobs as jobs
from lancespace import connect
from lancespace_spark import import_table, upsert
from lancespace_tables import virtual_column
from lancespace_views import _requests as building
from plugins.spark.tests.data import TABLE, files, fill, ids, numbers, used, versions, write
from plugins.spark.tests.jobs import on_spark, succeeded
from plugins.spark.tests.killing import after, killer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace
    from plugins.spark.tests.cluster import Cluster


Lake = dict[str, str]
"""The properties of a catalog."""


@pytest.fixture(params=["disk", "S3"])
def lake(request: pytest.FixtureRequest, root: str) -> Lake:
    """Where the catalog is."""
    if request.param == "disk":
        return {"root": root}
    cloud = request.getfixturevalue("s3_cloud")
    request.getfixturevalue("clean_environment")
    properties: Lake = cloud.properties(cloud.new_root())
    return properties


@pytest.fixture
def ns(lake: Lake) -> Iterator[Namespace]:
    with connect("dir", lake) as namespace:
        namespace.create_namespace("sales")
        yield namespace


def assert_nothing_is_left(catalog: Namespace, table: str = TABLE) -> None:
    """After the clean-up, for which nobody has to wait: what a dead task has written to a store, it has told nobody."""
    jobs.clean_up(catalog, table, older_than=timedelta(0), is_quiet=True).wait()
    marks = {one.deletion_file() for one in catalog.table(table).dataset().get_fragments()} - {None}
    assert files(catalog, table) == used(catalog, table) | marks


@pytest.fixture
def strike(tmp_path: Path, cluster: Cluster) -> Iterator[Callable[[], None]]:
    """Kills the executor that it is called on, and its worker, as when a machine dies; another worker takes its place.

    A test in which nobody was killed proves nothing.
    """
    marker = tmp_path / "marker"
    yield killer(marker, takes_worker=True)
    assert marker.exists()
    cluster.add_workers(1)


def test_a_write(spark: SparkSession, ns: Namespace, lake: Lake, strike: Callable[[], None]) -> None:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        strike()

    frame = spark.range(0, 20_000, 1, 4).mapInArrow(rows, "id long")
    write(frame, **lake, max_rows_per_file="1000")
    assert ids(ns) == list(range(20_000))
    assert versions(ns) == [1]
    if "://" not in lake["root"]:
        assert files(ns) == used(ns)
    assert_nothing_is_left(ns)


def test_an_import_from_spark(spark: SparkSession, ns: Namespace, strike: Callable[[], None]) -> None:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        strike()

    spark.range(0, 20_000, 1, 4).mapInArrow(rows, "id long").createOrReplaceTempView("struck")
    import_table(ns, TABLE, "struck").wait()
    spark.catalog.dropTempView("struck")
    assert ids(ns) == list(range(20_000))
    assert versions(ns) == [1]
    assert_nothing_is_left(ns)


def test_an_upsert(spark: SparkSession, ns: Namespace, lake: Lake, strike: Callable[[], None], tmp_path: Path) -> None:
    """Tasks that read rows prepare the process for those that write them: mostly, Spark gives it to both."""
    for number in range(10):
        _upsert_struck(spark, ns, lake, strike, f"sales.orders{number}")
        if (tmp_path / "marker").exists():
            return


def _upsert_struck(spark: SparkSession, ns: Namespace, lake: Lake, strike: Callable[[], None], table: str) -> None:
    write(numbers(spark, 1000), **lake, table=table)
    before = files(ns, table)
    arm = after("lance.fragment:write_fragments", strike)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arm()
        yield from batches

    changed = spark.range(500, 1500, 1, 4).selectExpr("id", "'new' AS name").mapInArrow(rows, "id long, name string")
    merged = upsert(spark, ns, table, changed, ["id"])
    assert (merged.updated, merged.inserted) == (500, 500)
    assert ids(ns, table) == list(range(1500))
    assert ns.table(table).count("name = 'new'") == 1000
    assert versions(ns, table) == [1, 2]
    marks = {one.deletion_file() for one in ns.table(table).dataset().get_fragments()} - {None}
    if "://" not in lake["root"]:
        assert files(ns, table) == before | used(ns, table) | marks
    assert_nothing_is_left(ns, table)


def test_a_backfill(spark: SparkSession, ns: Namespace, lake: Lake, strike: Callable[[], None]) -> None:
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
    with on_spark(spark, **lake) as catalog:
        succeeded(catalog, catalog.alter_table_backfill_columns(TABLE, column="twice").job_id)
        assert files(ns) > used(ns)
        assert_nothing_is_left(catalog)
    rows = ns.table(TABLE).to_arrow(columns=["id", "twice"]).to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(40))
    assert all(row["twice"] == 2 * row["id"] for row in rows)


def test_a_view_refresh(spark: SparkSession, ns: Namespace, lake: Lake, strike: Callable[[], None]) -> None:
    """As of a backfill."""
    fill(ns, fragments=4)
    arm = after("lancespace_views._tasks:write_fragments", strike)

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
    with on_spark(spark, **lake) as catalog:
        catalog.create_materialized_view("sales.words", **fields)
        succeeded(catalog, catalog.refresh_materialized_view("sales.words").job_id)
        assert files(ns, "sales.words") > used(ns, "sales.words")
        assert_nothing_is_left(catalog, "sales.words")
    found = [row["word"] for row in ns.table("sales.words").to_arrow().to_pylist()]
    assert sorted(found) == sorted(f"n{number} {part}" for number in range(40) for part in "ab")

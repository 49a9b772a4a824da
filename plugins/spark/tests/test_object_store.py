"""The same on S3: executors open tables through the namespace, and get their credentials there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lancespace_jobs as jobs
import lancespace_views as views
from lancespace import connect
from lancespace_spark import import_table, sql, upsert
from plugins.spark.tests.data import TABLE, ids, numbers, orders, versions
from plugins.spark.tests.jobs import succeeded

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.emulators.clouds import Cloud


@pytest.mark.usefixtures("clean_environment")
def test_a_table_in_s3(spark: SparkSession, s3_cloud: Cloud) -> None:
    """In one go, as each step needs what the one before has made."""
    properties = s3_cloud.properties(s3_cloud.new_root())
    engine = {"engine": "spark", "spark.master": str(spark.sparkContext.master)}
    with s3_cloud.connect(properties["root"], **engine) as namespace:
        namespace.create_namespace("sales")

        def write(start: int, stop: int) -> None:
            writer = numbers(spark, stop, start).write.format("lancespace")
            writer.options(namespace="dir", table=TABLE, **properties).mode("append").save()

        write(0, 100)
        write(100, 200)
        assert versions(namespace) == [1, 2]
        frame = sql(spark, namespace, f"SELECT count(*), max(name) FROM {TABLE} WHERE id >= 50")
        assert frame.collect() == [(150, "n99")]
        merged = upsert(spark, namespace, TABLE, numbers(spark, 250, 150).selectExpr("id", "'new' AS name"), ["id"])
        assert (merged.updated, merged.inserted) == (50, 50)
        jobs.compact(namespace, TABLE).wait()
        assert ids(namespace) == list(range(250))
        assert namespace.table(TABLE).count("name = 'new'") == 100
        assert len(namespace.table(TABLE).dataset().get_fragments()) == 1
        assert not left_by_jobs(s3_cloud, namespace.describe_table(TABLE).location or "")


@pytest.mark.usefixtures("clean_environment")
def test_the_jobs_of_a_catalog_in_s3(spark: SparkSession, s3_cloud: Cloud, tmp_path: Path) -> None:
    """In one go, too."""
    engine = {"engine": "spark", "spark.master": str(spark.sparkContext.master)}
    with (
        s3_cloud.connect(s3_cloud.new_root(), **engine) as namespace,
        connect("dir", {"root": str(tmp_path / "lake"), **engine}) as local,
    ):
        namespace.create_namespace("sales")
        for number in range(2):
            pq.write_table(orders(number * 10, number * 10 + 10), tmp_path / f"{number}.parquet")
        jobs.import_files(namespace, TABLE, [str(tmp_path / f"{number}.parquet") for number in range(2)]).wait()
        jobs.copy_table(namespace, TABLE, local, "copy").wait()
        jobs.copy_table(local, "copy", namespace, "sales.copy").wait()
        assert ids(namespace) == ids(local, "copy") == ids(namespace, "sales.copy") == list(range(20))
        jobs.build_index(namespace, TABLE, "id", "BTREE", segment_rows=10).wait()
        assert namespace.describe_table_index_stats(TABLE, index_name="id_idx").num_indexed_rows == 20
        namespace.alter_table_add_columns(TABLE, new_columns=[{"name": "twice", "computed": "id * 2"}])
        succeeded(namespace, namespace.alter_table_backfill_columns(TABLE, column="twice").job_id)
        assert namespace.table(TABLE).count("twice = 2 * id") == 20
        view = views.query_view(f"SELECT id FROM {TABLE} WHERE id >= 5", pa.schema([("id", pa.int64())]))
        namespace.create_materialized_view("sales.view", **view)
        succeeded(namespace, namespace.refresh_materialized_view("sales.view").job_id)
        assert ids(namespace, "sales.view") == list(range(5, 20))
        numbers(spark, 30).createOrReplaceTempView("thirty")
        for mode, stop in (("append", 30), ("append", 60), ("overwrite", 30)):
            import_table(namespace, "sales.spark", "thirty", mode=mode).wait()
            assert len(ids(namespace, "sales.spark")) == stop
        spark.catalog.dropTempView("thirty")
        for table in (TABLE, "sales.copy", "sales.view", "sales.spark"):
            assert not left_by_jobs(s3_cloud, namespace.describe_table(table).location or "")


def left_by_jobs(cloud: Cloud, location: str) -> list[str]:
    storage = cloud.storage(location)
    found: list[str] = storage.filesystem.find(storage.path(f"{location}/_lancespace_jobs"))
    return found

"""The same on S3: executors open tables through the namespace, and get their credentials there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lancespace import jobs
from lancespace_spark import sql, upsert
from plugins.spark.tests.data import TABLE, ids, numbers, versions

if TYPE_CHECKING:
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


def left_by_jobs(cloud: Cloud, location: str) -> list[str]:
    storage = cloud.storage(location)
    found: list[str] = storage.filesystem.find(storage.path(f"{location}/_lancespace_jobs"))
    return found

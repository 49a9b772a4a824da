"""The same over REST, on a disk and in S3 with credentials that the server vends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lancespace import connect
from lancespace_jobs import TableSpec
from lancespace_spark import upsert
from plugins.server.tests.hosting import served
from plugins.spark.tests.data import TABLE, ids, numbers
from plugins.storage.aws.tests.enforcement import client, moto_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def amazon() -> Iterator[str]:
    """S3 and STS at one address."""
    with moto_server() as endpoint:
        client("s3", endpoint).create_bucket(Bucket="sparks-vault")
        yield endpoint


def vending(endpoint: str) -> dict[str, str]:
    """A catalog that gives its clients credentials of their own for each table."""
    return {
        "root": "s3://sparks-vault/root",
        "storage.endpoint": endpoint,
        "storage.region": "us-east-1",
        "storage.access_key_id": "catalog",
        "storage.secret_access_key": "secret",
        "credential_vendor.enabled": "true",
        "credential_vendor.permission": "admin",
        "credential_vendor.aws_role_arn": "arn:aws:iam::123456789012:role/tables",
        "credential_vendor.aws_sts_endpoint": endpoint,
    }


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("store", ["disk", "S3"])
def test_a_table_behind_a_server(spark: SparkSession, amazon: str, tmp_path: Path, store: str) -> None:
    """In one go, as each step needs what the one before has made."""
    properties = {"root": str(tmp_path / "lake")} if store == "disk" else vending(amazon)
    with served(tmp_path, "dir", *(f"{name}={value}" for name, value in properties.items())) as server:
        options = {"namespace": "rest", "uri": server.url}
        namespace = connect("rest", {"uri": server.url})
        namespace.create_namespace("sales")
        namespace.declare_table("sales.copy")
        assert TableSpec.of(namespace, "sales.copy").latest() is None
        for start in (0, 10):
            writer = numbers(spark, start + 10, start).write.format("lancespace")
            writer.options(table=TABLE, **options).mode("append").save()
        assert spark.read.format("lancespace").options(table=TABLE, **options).load().count() == 20
        stream = spark.readStream.format("lancespace").options(table=TABLE, **options).load()
        sink = stream.writeStream.format("lancespace").options(table="sales.copy", **options)
        sink.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
        assert ids(namespace, "sales.copy") == list(range(20))
        merged = upsert(spark, namespace, TABLE, numbers(spark, 25, 15), ["id"])
        assert (merged.updated, merged.inserted) == (5, 5)
        assert ids(namespace) == list(range(25))

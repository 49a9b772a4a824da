from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lancespace import Namespace, connect
from plugins.spark.tests.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.log.level": "OFF",
    "spark.task.maxFailures": "2",  # Each failure costs a new Python process.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers, for all tests of a run."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.add_workers(2)
        yield cluster


@pytest.fixture(scope="session")
def spark(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on the cluster that knows the data source."""
    from lancespace_spark import session

    os.environ.update({"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable})
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    running = session({**SETTINGS, "spark.master": cluster.master, "spark.sql.warehouse.dir": warehouse})
    yield running
    running.stop()


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


@pytest.fixture
def ns(root: str) -> Iterator[Namespace]:
    with connect("dir", {"root": root}) as namespace:
        namespace.create_namespace("sales")
        yield namespace

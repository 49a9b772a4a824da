"""Vended credentials that expire in the middle of work: every executor, and the driver, asks for new ones.

S3 is a moto that refuses expired credentials. A task that lasts longer than its credentials is one whose requests are
answered so slowly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lancespace_jobs as jobs
from lancespace import Namespace, connect
from lancespace_jobs import TableSpec
from lancespace_spark import upsert
from plugins.server.tests.hosting import served
from plugins.spark.tests.data import TABLE, ids, numbers, orders
from plugins.storage.aws.tests.enforcement import enforced, lingering, moto_server, short_sessions, vending_catalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIFE_SECONDS = 6
EXECUTORS = 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a REST server whose catalog is on S3, and which vends credentials that live for seconds."""
    with moto_server() as endpoint, short_sessions(LIFE_SECONDS):
        vending = {**vending_catalog(endpoint, "sparks-brief"), "credential_vendor.permission": "admin"}
        properties = (f"{name}={value}" for name, value in vending.items())
        with enforced(), served(tmp_path_factory.mktemp("server"), "dir", *properties) as running:
            yield running.url


@pytest.fixture(autouse=True)
def _clean(clean_environment: None) -> None:
    """The fixture does it."""


@pytest.fixture
def ns(server: str, spark: SparkSession) -> Iterator[Namespace]:
    """A client without credentials of its own; its jobs run on the cluster."""
    engine = {"engine": "spark", "spark.master": str(spark.sparkContext.master)}
    with connect("rest", {"uri": server, **engine}) as namespace:
        namespace.create_namespace("sales")
        yield namespace
        namespace.drop_namespace("sales", behavior="Cascade")


@contextmanager
def slow(action: str, times: int = EXECUTORS) -> Iterator[None]:
    """The first request of each task for data takes until its credentials have expired.

    Nobody comes with expired ones after that: Spark would run such a task again, and it would pass.
    """
    with lingering(f"s3:{action}Object", "/data/", times) as seen:
        yield
    assert (len(seen.waited), seen.expired) == (times, [])


def write(frame: DataFrame, ns: Namespace, **options: str) -> None:
    writer = frame.write.format("lancespace").options(namespace="rest", table=TABLE, uri=uri(ns), **options)
    writer.mode("append").save()


def uri(ns: Namespace) -> str:
    return ns.connection_args()[1]["uri"]


def beyond_expiry(handle: TableSpec) -> Callable[[int], tuple[int, list[int], str]]:
    """A task that opens a table, and reads from it when the store refuses the credentials of that moment.

    It answers which executor it ran on, what it read, and how it went for one without new credentials. It is made of
    one piece, so that it travels to executors that cannot import this module.
    """

    def task(_: int) -> tuple[int, list[int], str]:
        import os

        import lance

        from lancespace_testing.waiting import until

        def refusal() -> str:
            try:
                lance.dataset(place.location, storage_options=place.storage_options)
            except (OSError, ValueError) as error:
                return str(error)
            return ""

        place, dataset = handle.place(), handle.open()
        assert not refusal()
        refused = until(refusal, bool)
        return os.getppid(), sorted(dataset.to_table(columns=["id"])["id"].to_pylist()), refused

    return task


def test_each_executor_renews_its_own(spark: SparkSession, ns: Namespace) -> None:
    ns.create_table(TABLE, orders(0, 10))
    task = beyond_expiry(TableSpec.of(ns, TABLE))
    told = spark.sparkContext.parallelize(range(EXECUTORS), EXECUTORS).map(task).collect()
    assert len({executor for executor, _, _ in told}) == EXECUTORS
    assert [read for _, read, _ in told] == [list(range(10))] * EXECUTORS
    assert all("ExpiredToken" in refusal for _, _, refusal in told)


def test_a_write_that_takes_longer(spark: SparkSession, ns: Namespace) -> None:
    """A first one, which makes the table, and a second; each task writes several files."""
    for start in (0, 100):
        with slow("Put"):
            write(numbers(spark, start + 100, start).coalesce(EXECUTORS), ns, max_rows_per_file="25")
    assert ids(ns) == list(range(200))


def test_a_read_that_takes_longer(spark: SparkSession, ns: Namespace) -> None:
    """Of files that are too large to be read at once: after their ends come their columns."""
    ns.create_table(TABLE, large(0, 500))
    ns.insert_into_table(TABLE, large(500, 1000))
    reader = spark.read.format("lancespace").options(namespace="rest", table=TABLE, uri=uri(ns), partition_rows="500")
    with slow("Get"):
        assert sorted(row["id"] for row in reader.load().collect()) == list(range(1000))


def large(start: int, stop: int) -> pa.Table:
    chance = random.Random(start)
    return pa.table({"id": range(start, stop), "text": [chance.randbytes(1000).hex() for _ in range(start, stop)]})


def test_an_upsert_that_takes_longer(spark: SparkSession, ns: Namespace) -> None:
    """The driver commits to the table that it opened before."""
    write(numbers(spark, 100), ns)
    with slow("Put", times=1):  # Spark puts so few rows into one task.
        merged = upsert(spark, ns, TABLE, numbers(spark, 150, 50), ["id"])
    assert (merged.updated, merged.inserted) == (50, 50)
    assert ids(ns) == list(range(150))


def test_jobs_that_take_longer(spark: SparkSession, ns: Namespace) -> None:
    """In one go: rows are changed, compacted and indexed."""
    write(numbers(spark, 100).coalesce(EXECUTORS), ns)
    with slow("Get"):
        jobs.update_rows(ns, TABLE, {"name": "'new'"}, "id % 2 = 0").wait()
    assert ns.table(TABLE).count("name = 'new'") == 50
    with slow("Get", times=1):
        jobs.compact(ns, TABLE).wait()
    assert ids(ns) == list(range(100))
    assert len(ns.table(TABLE).dataset().get_fragments()) == 1
    with slow("Get", times=1):
        jobs.build_index(ns, TABLE, "id", "BTREE").wait()
    assert ns.describe_table_index_stats(TABLE, index_name="id_idx").num_indexed_rows == 100

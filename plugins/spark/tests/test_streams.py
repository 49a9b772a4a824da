from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from plugins.spark.tests.data import TABLE, fill, ids, orders, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace


class Flow:
    """A stream from one table into another that can be run again and again, from its checkpoint."""

    def __init__(self, spark: SparkSession, root: str, checkpoint: Path) -> None:
        self._spark = spark
        self._root = root
        self._checkpoint = str(checkpoint)

    def run(self, target: str = "sales.copy", **options: str) -> list[int]:
        """Take over all that is there now; the answer is how many rows each batch had."""
        source = self._spark.readStream.format("lancespace").options(root=self._root, table=TABLE, **options).load()
        writer = source.select("id", "name").writeStream.format("lancespace")
        writer = writer.options(root=self._root, table=target, checkpointLocation=self._checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


@pytest.fixture
def flow(spark: SparkSession, root: str, tmp_path: Path) -> Flow:
    return Flow(spark, root, tmp_path / "checkpoint")


def test_a_stream_takes_what_is_there_and_later_what_is_appended(ns: Namespace, flow: Flow) -> None:
    fill(ns, 2)
    assert flow.run() == [20]
    assert ids(ns, "sales.copy") == list(range(20))
    ns.insert_into_table(TABLE, orders(20, 30))
    ns.create_table_scalar_index(TABLE, column="id", index_type="BTREE")
    ns.table(TABLE).dataset().optimize.compact_files()
    ns.insert_into_table(TABLE, orders(30, 35))
    ns.alter_table_add_columns(TABLE, new_columns=[{"name": "twice", "expression": "id * 2"}])
    assert flow.run() == [15]
    assert ids(ns, "sales.copy") == list(range(35))
    assert versions(ns, "sales.copy") == [1, 2]


def test_versions_per_trigger_are_limited(ns: Namespace, flow: Flow) -> None:
    fill(ns, 1)
    assert flow.run(max_versions_per_trigger="2") == [10]
    for start in range(10, 60, 10):
        ns.insert_into_table(TABLE, orders(start, start + 10))
    assert flow.run(max_versions_per_trigger="2") == [20, 20, 10]
    assert ids(ns, "sales.copy") == list(range(60))


def test_a_stream_may_start_after_a_version(ns: Namespace, flow: Flow) -> None:
    fill(ns, 3)
    assert flow.run(starting_version="2") == [10]
    assert ids(ns, "sales.copy") == list(range(20, 30))


def test_changes_end_a_stream_unless_they_are_to_be_skipped(ns: Namespace, flow: Flow) -> None:
    fill(ns, 1)
    flow.run()
    ns.delete_from_table(TABLE, predicate="id = 3")
    ns.update_table(TABLE, updates=[["name", "'x'"]], predicate="id = 4")
    ns.insert_into_table(TABLE, orders(10, 15))
    with pytest.raises(StreamingQueryException, match=r"version 2 .* is a Delete: it changed or removed rows"):
        flow.run()
    assert ids(ns, "sales.copy") == list(range(10))
    assert flow.run(skip_changes="true") == [5]
    assert ids(ns, "sales.copy") == list(range(15))


def test_versions_that_were_cleaned_up_are_missed(ns: Namespace, flow: Flow) -> None:
    from datetime import timedelta

    import lancespace_jobs as jobs

    fill(ns, 1)
    flow.run()
    for start in (10, 20):
        ns.insert_into_table(TABLE, orders(start, start + 10))
    jobs.clean_up(ns, TABLE, older_than=timedelta(0)).wait()
    with pytest.raises(StreamingQueryException, match="version 2 of the table is gone"):
        flow.run()


def test_a_batch_that_is_repeated_after_a_crash_is_written_once(ns: Namespace, flow: Flow, tmp_path: Path) -> None:
    fill(ns, 1)
    flow.run()
    ns.insert_into_table(TABLE, orders(10, 20))
    flow.run()
    (tmp_path / "checkpoint" / "commits" / "1").unlink()  # As if Spark had died after our commit, and before its own.
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink()
    assert flow.run() == [10]
    assert ids(ns, "sales.copy") == list(range(20))
    assert versions(ns, "sales.copy") == [1, 2]


def test_a_stream_can_only_append(spark: SparkSession, ns: Namespace, root: str, tmp_path: Path) -> None:
    fill(ns, 1)
    source = spark.readStream.format("lancespace").options(root=root, table=TABLE).load()
    counts = source.groupBy("name").count().writeStream.format("lancespace").outputMode("complete")
    query = counts.options(root=root, table="sales.counts", checkpointLocation=str(tmp_path / "c")).start()
    with pytest.raises(StreamingQueryException, match="use the output mode 'append'"):
        query.awaitTermination(60)

"""Spark on our tables and on its own Parquet: the same work in one session, on the same rows.

LANCESPACE_BENCH_SPARK_ROWS chooses how many rows (default 5000000): a number, a word and 16 floats each. The numbers
come in no order; sorted by them, Parquet would find a row nearly as fast as an index. Where both answer a question, the
answers must be equal.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lancespace_jobs as jobs
from benchmarks.report import Result
from lancespace import connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

ROWS = int(os.environ.get("LANCESPACE_BENCH_SPARK_ROWS", "5000000"))
DIMENSIONS = 16
ROUNDS, UNCOUNTED = 5, 3
"""How often each thing is done, and how often before that: Java compiles what it has seen a few times."""
QUICK_ROUNDS, QUICK_UNCOUNTED = 15, 120
"""The same for what takes a fraction of a second and is done often."""
UNMEASURED = ("spark.sql.execution.arrow.maxBytesPerBatch", "2147483647")
"""With this, Spark does not work out the size of a batch after each row; see docs/spark on when that is safe."""
TABLE = "items"
NEAREST = 10
_STEP = 7919
"""A prime: stepping through the numbers by it comes to every one of them once."""


@dataclass(frozen=True)
class Lake:
    """Equal rows twice: as a table of ours, and as Parquet."""

    spark: SparkSession
    namespace: Namespace
    folder: str

    @property
    def parquet(self) -> str:
        """Where Spark's own files are."""
        return f"{self.folder}/parquet"

    @property
    def options(self) -> dict[str, str]:
        """How our table is named to Spark."""
        return {"root": f"{self.folder}/lake", "table": TABLE}

    def source(self, start: int = 0, stop: int = ROWS) -> DataFrame:
        """Rows that Spark makes up."""
        floats = ", ".join(f"CAST(hash(id, {number}) % 1000 AS FLOAT)" for number in range(DIMENSIONS))
        mixed = f"CASE WHEN id < {ROWS} THEN pmod(id * {_STEP}, {ROWS}) ELSE id END AS id"
        return (
            self.spark.range(start, stop)
            .selectExpr(mixed)
            .selectExpr("id", "concat('word ', id % 100003) AS word", f"array({floats}) AS v")
        )

    def ours(self, statement: str) -> DataFrame:
        """A query over our table; ``{t}`` stands for it."""
        from lancespace_spark import sql

        return sql(self.spark, self.namespace, statement.format(t=TABLE))

    def theirs(self, statement: str) -> DataFrame:
        """The same query over Parquet."""
        self.spark.read.parquet(self.parquet).createOrReplaceTempView("theirs")
        return self.spark.sql(statement.format(t="theirs"))


def run() -> Iterator[Result]:
    """Writes, reads, look-ups, then what Parquet has nothing for, then one worker and two."""
    from lancespace_spark import session

    with tempfile.TemporaryDirectory() as folder:
        spark = session({"spark.log.level": "ERROR", "spark.driver.memory": "4g"})
        with connect("dir", {"root": f"{folder}/lake", "engine": "spark"}) as namespace:
            lake = Lake(spark, namespace, folder)
            yield from _writes(lake)
            yield from _reads(lake)
            yield from _look_ups(lake)
            yield _upsert(lake)
            yield _backfill(lake)
        spark.stop()
    yield from _scaling()


def _writes(lake: Lake) -> Iterator[Result]:
    from lancespace_spark.java import find_java

    def ours() -> None:
        writer = lake.source().write.format("lancespace").options(**lake.options, vectors=f"v:{DIMENSIONS}")
        writer.mode("overwrite").save()

    def theirs() -> None:
        lake.source().write.mode("overwrite").parquet(lake.parquet)

    case, goal = f"write of {ROWS} rows on Java {find_java().version}", "at least 1.4 times as fast"
    yield _compare(case, ours, theirs, goal)
    lake.spark.conf.set(*UNMEASURED)
    yield _compare(f"{case}, batches not measured", ours, theirs, goal)
    lake.spark.conf.unset(UNMEASURED[0])


def _reads(lake: Lake) -> Iterator[Result]:
    counted = "SELECT count(*), sum(id) FROM {t}"
    yield _query(lake, "SELECT count(*), sum(id)", counted, "within 2 times, a ratio of 0.5")

    def drain(frame: DataFrame) -> None:
        frame.write.format("noop").mode("overwrite").save()

    whole = "SELECT * FROM {t}"
    yield _compare(
        "all columns", lambda: drain(lake.ours(whole)), lambda: drain(lake.theirs(whole)), "within 1.5 times: 0.67"
    )


def _look_ups(lake: Lake) -> Iterator[Result]:
    jobs.build_index(lake.namespace, TABLE, "id", "BTREE").wait()
    jobs.build_index(lake.namespace, TABLE, "v", "IVF_FLAT", num_partitions=max(1, ROWS // 10_000)).wait()
    key = ROWS // 3
    by_key = f"SELECT * FROM {{t}} WHERE id = {key}"  # noqa: S608 - a number of ours
    yield _compare(
        "row by an indexed key",
        lambda: lake.ours(by_key).collect(),
        lambda: lake.theirs(by_key).collect(),
        "at least 10 times as fast",
        QUICK_ROUNDS,
        QUICK_UNCOUNTED,
    )
    wanted = [float(number) for number in lake.ours(by_key).collect()[0]["v"]]
    vector = ", ".join(f"{number}F" for number in wanted)
    distance = f"aggregate(zip_with(v, array({vector}), (a, b) -> (a - b) * (a - b)), 0F, (x, y) -> x + y)"
    nearest = f"SELECT id FROM {{t}} ORDER BY {distance} LIMIT {NEAREST}"  # noqa: S608 - numbers of ours
    options = {**lake.options, "columns": "id", "vector": str(wanted), "k": str(NEAREST)}
    yield _compare(
        f"the {NEAREST} nearest vectors",
        lambda: key in _ids(lake.spark.read.format("lancespace").options(**options).load()),
        lambda: key in _ids(lake.theirs(nearest)),
        "at least 10 times as fast",
    )


def _ids(frame: DataFrame) -> set[int]:
    return {row["id"] for row in frame.collect()}


def _upsert(lake: Lake) -> Result:
    from lancespace_spark import upsert

    count = max(1, ROWS // 100)
    seconds = []
    for number in range(ROUNDS):
        source = lake.source(ROWS - count // 2 + number * count, ROWS + count // 2 + number * count)
        started = time.perf_counter()
        upsert(lake.spark, lake.namespace, TABLE, source, ["id"])
        seconds.append(time.perf_counter() - started)
    taken = statistics.median(seconds)
    return Result(f"upsert of {count} rows", {"ours_s": taken, "rows_per_s": count / taken})


def _backfill(lake: Lake) -> Result:
    lake.namespace.alter_table_add_columns(TABLE, new_columns=[{"name": "twice", "computed": "id * 2"}])
    started = time.perf_counter()
    job = lake.namespace.alter_table_backfill_columns(TABLE, column="twice").job_id
    status = jobs.SubmittedJob(lake.namespace, str(job)).wait()
    taken = time.perf_counter() - started
    return Result("backfill of a column", {"ours_s": taken, "rows_per_s": (status.rows or 0) / taken})


def _scaling() -> Iterator[Result]:
    """On a cluster of processes, first with one worker of one core, then with two."""
    from lancespace_spark import session
    from plugins.spark.tests.cluster import Cluster

    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder)) as cluster:
        cluster.add_workers(1)
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.log.level": "ERROR",
        }
        spark = session({**settings, "spark.master": cluster.master, "spark.executor.memory": "1g"})
        with connect("dir", {"root": f"{folder}/lake"}) as namespace:
            lake = Lake(spark, namespace, folder)
            alone = _write_and_read(lake)
            cluster.add_workers(1)
            together = _write_and_read(lake)
        spark.stop()
    for case, one, two in zip(("write", "all columns"), alone, together, strict=True):
        yield Result(f"{case}, 1 worker to 2", {"one_s": one, "two_s": two, "ratio": one / two})


def _write_and_read(lake: Lake) -> tuple[float, float]:
    def write() -> None:
        writer = (
            lake.source().repartition(2).write.format("lancespace").options(**lake.options, vectors=f"v:{DIMENSIONS}")
        )
        writer.mode("overwrite").save()

    def read() -> None:
        lake.ours("SELECT * FROM {t}").write.format("noop").mode("overwrite").save()

    return _median(write), _median(read)


def _query(lake: Lake, case: str, statement: str, goal: str) -> Result:
    return _compare(case, lambda: lake.ours(statement).collect(), lambda: lake.theirs(statement).collect(), goal)


def _compare(
    case: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    goal: str,
    rounds: int = ROUNDS,
    uncounted: int = UNCOUNTED,
) -> Result:
    """Median times; the two take turns at who is first."""
    times: dict[str, list[float]] = {"ours": [], "parquet": []}
    answers: dict[str, Any] = {}
    calls = {"ours": ours, "parquet": theirs}
    for number in range(uncounted + rounds):
        for who in sorted(calls, reverse=bool(number % 2)):
            started = time.perf_counter()
            answers[who] = calls[who]()
            times[who].append(time.perf_counter() - started)
    if answers["ours"] != answers["parquet"]:
        raise RuntimeError(f"{case}: the answers differ, so the times say nothing: {answers}")
    mine, other = (statistics.median(times[who][uncounted:]) for who in ("ours", "parquet"))
    return Result(case, {"ours_s": mine, "parquet_s": other, "ratio": other / mine}, goal)


def _median(call: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(UNCOUNTED + ROUNDS):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[UNCOUNTED:])

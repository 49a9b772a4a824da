"""The session that everybody shares."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lance_namespace import InvalidInputError
from pyspark.sql.datasource import DataSourceRegistration

import lancespace_jobs as jobs
from lancespace import connect
from lancespace_jobs import JobFailedError
from lancespace_spark import register, session, sessions
from lancespace_spark.source import LanceSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_another_master_than_the_running_one_is_refused(spark: SparkSession) -> None:
    running = str(spark.sparkContext.master)
    assert session({"spark.master": running}) is spark
    with pytest.raises(InvalidInputError, match=rf"runs Spark on {re.escape(running)} already, .* 'local\[1\]'"):
        session({"spark.master": "local[1]"})


def test_a_session_is_told_of_the_data_source_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark warns of a source that replaces another of its name."""
    told: list[object] = []
    monkeypatch.setattr(DataSourceRegistration, "register", lambda _, source: told.append(source))
    for _ in range(2):
        session()
        register(spark)
    assert told == []
    other = spark.newSession()
    register(other)
    register(other)
    assert told == [LanceSource]


def test_the_data_source_is_known_in_every_thread(spark: SparkSession, root: str) -> None:
    """A job may have made the session in a thread of its own: then Spark has no active one in the caller's."""
    failures: list[Exception] = []

    def write() -> None:
        try:
            frame = session().range(3)
            frame.write.format("lancespace").options(root=root, table="t").mode("append").save()
        except Exception as error:  # noqa: BLE001 - told by the assertion
            failures.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert not failures
    assert spark.read.format("lancespace").options(root=root, table="t").load().count() == 3


def test_two_first_jobs_start_one_spark(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    inside, most = [0], [0]

    def slow(_: object) -> SparkSession:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        threading.Event().wait(0.2)
        inside[0] -= 1
        return spark

    monkeypatch.setattr(sessions, "_running_or_new", slow)
    threads = [threading.Thread(target=session) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_task_that_failed_is_told_in_a_line(spark: SparkSession, root: str, tmp_path: Path) -> None:
    (tmp_path / "1.parquet").write_bytes(b"no Parquet at all")
    with connect("dir", {"root": root, "engine": "spark", "spark.master": str(spark.sparkContext.master)}) as namespace:
        namespace.create_table("t", [{"id": 1}])
        with pytest.raises(JobFailedError, match=r"InvalidInputError: import .*1.parquet") as told:
            jobs.import_files(namespace, "t", str(tmp_path / "1.parquet")).wait()
    assert "\n" not in str(told.value)
    assert "Traceback" not in str(told.value)

"""A Spark session without set-up: local by default, on a cluster if a setting names its master."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace.authoring import public
from lancespace_spark.java import find_java, running_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARROW = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Java need not check each access to the batches that pyarrow has made: reads take a tenth less."""

DEFAULTS = {
    "spark.master": "local[*]",
    "spark.app.name": "lancespace",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.daemon.module": "lancespace_spark.daemon",
    "spark.driver.extraJavaOptions": _ARROW,
    "spark.executor.extraJavaOptions": _ARROW,
}
"""What a session has unless it is told otherwise."""

LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""Added where the master is this machine: nothing listens on the network, and no name needs to be resolved."""

_starting = threading.Lock()
"""Two jobs that begin at once must not both start a Spark."""


@public
def session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """The running session, or a new one with these Spark settings, which knows the data source ``lancespace``.

    Python workers run the interpreter that calls this, so what is installed here is there on local executors, too.

    Raises:
        InvalidInputError: If the settings name a master, and the running session has another.
        UnsupportedOperationError: If there is no Java that Spark runs on; the message says how to get it.
    """
    from lancespace_spark.source import register

    with _starting:
        _refuse_another_master(settings or {})
        spark = _running_or_new(settings or {})
        register(spark)
    make_active(spark)
    return spark


def current(settings: Mapping[str, str]) -> SparkSession:
    """The session of this thread, as whoever made it has set it up; without one, that of :func:`session`.

    Raises:
        InvalidInputError: As :func:`session` does.
    """
    from pyspark.sql import SparkSession

    _refuse_another_master(settings)
    return SparkSession.getActiveSession() or session(settings)


def _refuse_another_master(settings: Mapping[str, str]) -> None:
    """Spark has one context in a process, and would pass over what another session asks for."""
    from pyspark import SparkContext

    running, wanted = SparkContext._active_spark_context, settings.get("spark.master")  # noqa: SLF001 - Spark's own way
    if running is not None and wanted is not None and running.master != wanted:
        raise InvalidInputError(
            f"this process runs Spark on {running.master} already, and a process has one: stop it (spark.stop()) "
            f"before asking for spark.master {wanted!r}, or leave spark.master out to use the one that runs"
        )


def _running_or_new(settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    wanted = {**DEFAULTS, **settings}
    is_local = wanted["spark.master"].startswith("local")
    java = find_java(is_local=is_local)
    if is_local:
        wanted = {**LOOPBACK, **wanted}
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # The only way that reaches the workers that plan.
    builder = SparkSession.builder
    for name, value in wanted.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings(), running_on(java):
        warnings.filterwarnings("ignore", "lance is not fork-safe")  # The process that is forked becomes Java at once.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # Nothing here asks it to.
        return builder.getOrCreate()


def make_active(spark: SparkSession) -> None:
    """Spark looks for data sources in the session of its thread, which another thread may have made."""
    java = spark._jvm  # noqa: SLF001 - there is no public way
    assert java is not None  # noqa: S101 - a session that runs has one
    spark._get_j_spark_session_class(java).setActiveSession(spark._jsparkSession)  # noqa: SLF001 - the same

"""A Spark session without set-up: local by default, on a cluster if a setting names its master."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

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


def session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """The running session, or a new one with these Spark settings, which knows the data source ``lancespace``.

    Python workers run the interpreter that calls this, so what is installed here is there on local executors, too.

    Raises:
        UnsupportedOperationError: If there is no Java that Spark runs on; the message says how to get it.
    """
    from pyspark.sql import SparkSession

    from lancespace_spark.source import register

    wanted = {**DEFAULTS, **(settings or {})}
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
        spark: SparkSession = builder.getOrCreate()
        register(spark)
    return spark

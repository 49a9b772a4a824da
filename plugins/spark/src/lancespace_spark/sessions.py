"""A Spark session without set-up: local by default, on a cluster if a setting names its master."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import UnsupportedOperationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17

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

    check_java()
    wanted = {**DEFAULTS, **(settings or {})}
    if wanted["spark.master"].startswith("local"):
        wanted = {**LOOPBACK, **wanted}
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # The only way that reaches the workers that plan.
    builder = SparkSession.builder
    for name, value in wanted.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lance is not fork-safe")  # The process that is forked becomes Java at once.
        spark: SparkSession = builder.getOrCreate()
        register(spark)
    return spark


def check_java() -> None:
    """Make sure that Spark finds a Java that it can run on.

    Raises:
        UnsupportedOperationError: If there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not java or not Path(java).exists():
        where = f"JAVA_HOME names {home}, which has no bin/java" if home else "there is none on the PATH"
        raise UnsupportedOperationError(_wanted(where))
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603 - Java's
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version is None or int(version.group(1)) < OLDEST_JAVA:
        raise UnsupportedOperationError(_wanted(f"{java} is {version.group(1) if version else 'no Java'}"))


def _wanted(what: str) -> str:
    return (
        f"Spark needs Java {OLDEST_JAVA} or later, and {what}: install it (Debian: apt install openjdk-17-jre, "
        "macOS: brew install openjdk@17), or set JAVA_HOME to where it is"
    )

"""A real Spark cluster on loopback, from the pip package alone: a master and workers as processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pyspark
from typing_extensions import Self

from lancespace_spark.java import find_java

SPARK_HOME = Path(pyspark.__file__).parent
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
PATIENCE = 120
"""Seconds to wait for a process."""
REGISTERED = re.compile(r"Successfully registered with master")


class Cluster:
    """The processes of a cluster; every worker has one core."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._workers = 0
        self.master = ""

    def __enter__(self) -> Self:
        options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = self._start("master", "org.apache.spark.deploy.master.Master", *options)
        self.master = _logged(log, STARTED)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add_workers(self, count: int) -> None:
        """Start workers, and wait until the master knows them."""
        options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "2g", "--webui-port", "0", self.master)
        names = [f"worker{self._workers + number}" for number in range(count)]
        self._workers += count
        logs = [self._start(name, "org.apache.spark.deploy.worker.Worker", *options) for name in names]
        for log in logs:
            _logged(log, REGISTERED)

    def _start(self, name: str, main: str, *options: str) -> Path:
        log = self._folder / f"{name}.log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [SPARK_HOME / "bin" / "spark-class", main, *options],
                env=self._environment(name),
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return log

    def _environment(self, name: str) -> Mapping[str, str]:
        return {
            **os.environ,
            "JAVA_HOME": str(find_java(is_local=False).program.resolve().parents[1]),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "SPARK_WORKER_DIR": str(self._folder / name),
            "PYSPARK_PYTHON": sys.executable,
        }


def _logged(log: Path, pattern: re.Pattern[str]) -> str:
    """What the log says, once it does; a Java machine takes its time to start beside other tests."""
    deadline = time.monotonic() + PATIENCE
    while (found := pattern.search(log.read_text(errors="replace"))) is None:
        assert time.monotonic() < deadline, f"after {PATIENCE} s there is no {pattern.pattern!r} in {log}"
        time.sleep(0.1)
    return found.group(found.re.groups)

"""A real Spark cluster on loopback, from the pip package alone: a master and workers as processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pyspark
from typing_extensions import Self

from lancespace.testing.waiting import until

SPARK_HOME = Path(pyspark.__file__).parent
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = re.compile(r"Successfully registered with master")


class Cluster:
    """The processes of a cluster; every worker has one core."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._workers: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def __enter__(self) -> Self:
        options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = self._start("master", "org.apache.spark.deploy.master.Master", *options)[1]
        self.master = _logged(log, STARTED)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until the master knows it."""
        name = f"worker{len(self._workers)}"
        options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "2g", "--webui-port", "0", self.master)
        process, log = self._start(name, "org.apache.spark.deploy.worker.Worker", *options)
        _logged(log, REGISTERED)
        self._workers.append(process)
        return process

    def _start(self, name: str, main: str, *options: str) -> tuple[subprocess.Popen[bytes], Path]:
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
        return process, log

    def _environment(self, name: str) -> Mapping[str, str]:
        return {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "SPARK_WORKER_DIR": str(self._folder / name),
            "PYSPARK_PYTHON": sys.executable,
        }


def _logged(log: Path, pattern: re.Pattern[str]) -> str:
    match = until(lambda: pattern.search(log.read_text(errors="replace")), lambda found: found is not None)
    assert match is not None
    return match.group(match.re.groups)

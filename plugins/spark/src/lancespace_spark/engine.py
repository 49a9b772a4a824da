"""The engine ``spark``: the catalog's jobs, computed on a Spark cluster.

``connect("dir", {"root": ..., "engine": "spark", "spark.master": "spark://host:7077"})``; any setting of Spark is a
property. A job's driver code runs in this process, as with the engine ``local``; each of its tasks is a Spark job.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from lancespace.authoring import Property, Result, Task
from lancespace_jobs import LocalEngine
from lancespace_spark.failures import cause

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace.authoring import Connection

FAMILY = "spark."


class SparkEngine(LocalEngine):
    """Runs the tasks of jobs on executors."""

    properties: ClassVar[tuple[Property, ...]] = (
        Property(FAMILY, "Settings of Spark, e.g. spark.master; by default Spark runs in this process's machine"),
    )

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._settings = settings_of(connection)

    def compute(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], concurrency: int | None
    ) -> Generator[tuple[Task, Result], None, None]:
        """Run a function over tasks on executors: a thread waits for each that is under way."""
        at_once = concurrency or self._spark.sparkContext.defaultParallelism
        return super().compute(functools.partial(self._on_executor, function), tasks, at_once)

    @functools.cached_property
    def _spark(self) -> SparkSession:
        from lancespace_spark.sessions import session

        return session(self._settings)

    def _on_executor(self, function: Callable[[Task], Result], task: Task) -> Any:
        """One task as a Spark job of one partition; Spark tries it again if an executor is lost."""
        try:
            return self._spark.sparkContext.parallelize([task], 1).map(function).collect()[0]
        except Exception as error:
            raise cause(error) from error


def settings_of(connection: Connection) -> dict[str, str]:
    """The settings of Spark among a connection's properties; another engine has none."""
    given = connection.settings.family(FAMILY) if connection.settings.declares(FAMILY) else {}
    return {f"{FAMILY}{name}": text for name, text in given.items()}

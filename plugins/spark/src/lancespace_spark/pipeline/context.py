"""What a step runs in, and what it is told of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lancespace_jobs import TableSpec

if TYPE_CHECKING:
    import lance
    from pyspark.sql import SparkSession

    from lancespace import Namespace
    from lancespace_jobs import JobFiles, SubmittedJob
    from lancespace_spark.pipeline.model import Pipeline

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Context:
    """The catalog, Spark, and the ways to tell how it goes."""

    pipeline: Pipeline
    namespace: Namespace
    files: JobFiles
    """Where the catalog keeps the records of jobs."""
    spark: Callable[[], SparkSession]
    """Started when the first step needs it."""
    progress: Progress = lambda *_: None
    begin: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Notes what the step is about to append."""

    def wait(self, job: SubmittedJob) -> int:
        """Wait for a job and pass its progress on; how many rows it did."""
        return job.wait(lambda status: self.progress(status.fraction, status.message)).rows or 0

    def latest(self, table: str) -> lance.LanceDataset | None:
        """The latest version of a table, or None if it is not there or has no data yet."""
        return TableSpec.of(self.namespace, table).latest()

    def version(self, table: str) -> int | None:
        """The number of that version."""
        latest = self.latest(table)
        return None if latest is None else int(latest.version)

    def count(self, table: str) -> int:
        """How many rows a table has."""
        latest = self.latest(table)
        return 0 if latest is None else int(latest.count_rows())


@dataclass(frozen=True)
class Look:
    """What a step has before it."""

    state: str
    """Why it runs, or that it need not."""
    seen: Any = None
    """What it has worked on before; None if that does not count, or there was nothing."""
    now: Any = None
    """What there is."""
    began: Any = None
    """What it had begun to append when its last run ended without a word."""
    mark: str = ""
    """The step's fingerprint."""
    is_changed: bool = False
    """Whether the step has worked before, and was edited since."""


@dataclass(frozen=True)
class Done:
    """What a step did."""

    rows: int
    """That it wrote or worked on."""
    seen: Any = None
    """What it need not look at again."""

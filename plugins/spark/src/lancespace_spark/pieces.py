"""The partitions of a DataFrame as tasks of a job: each is written by a Spark job of its own, which a thread waits for.

So a job tells how many are done, stops between them, and keeps what they wrote.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lancespace.authoring import fingerprint, translated
from lancespace_spark import repeatable
from lancespace_spark.casting import cast_batch
from lancespace_spark.failures import cause
from lancespace_spark.mapping import map_batches

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame

    from lancespace.authoring import Work
    from lancespace_jobs import Stage, Written

_ANSWER = "written string"
"""What each task tells: what it wrote, as JSON."""


class Pieces:
    """The partitions of a DataFrame on their way to a stage, in the columns of a table."""

    def __init__(self, frame: DataFrame, stage: Stage, schema: pa.Schema, *, is_repeatable: bool) -> None:
        self._frame = frame
        self._stage = stage
        self._schema = schema
        self._is_repeatable = is_repeatable

    def write(self, work: Work, shape: str) -> list[Written]:
        """Write all of them, except those that an earlier attempt has written."""
        rdd = self._planned()
        count = rdd.getNumPartitions()
        pieces = repeatable.pieces_of(rdd) if self._is_repeatable else None
        whole = pieces or uuid.uuid4().hex
        results: list[Written] = []
        rows = 0
        work.report(0.0, f"importing {count} partitions", 0)
        for _, written in work.map(
            lambda number: _write(rdd, number),
            range(count),
            key=lambda number: fingerprint(whole, shape, number),
            is_there=self._stage.has,
            concurrency=rdd.context.defaultParallelism,
            on_driver=True,
        ):
            results.append(written)
            rows += written["rows"]
            work.report(len(results) / count, f"importing {count} partitions", rows)
        return results

    def _planned(self) -> RDD[Any]:
        """Planned once, for all partitions; if there is a shuffle, Spark does what comes before it now."""
        try:
            return map_batches(self._frame, _task(self._stage, self._schema), _ANSWER).rdd
        except Exception as error:
            raise cause(error) from error


def _write(rdd: RDD[Any], number: int) -> Written:
    """Have an executor write one partition; Spark tries it again if that is lost."""
    try:
        told = rdd.context.runJob(rdd, list, [number])
    except Exception as error:
        raise cause(error) from error
    written: Written = json.loads(told[0]["written"])
    return written


def _task(stage: Stage, schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with translated(f"import into table {stage.handle.name!r}"):
            written = stage.write((cast_batch(batch, schema) for batch in batches), schema)
        yield pa.RecordBatch.from_pydict({"written": [json.dumps(written)]})

    return task

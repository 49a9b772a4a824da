"""A stream's sink that writes each batch exactly once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, UnsupportedOperationError
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from lancespace.authoring import fingerprint
from lancespace_jobs import Stage, declare, discard_all
from lancespace_spark.batches import NumberedBatches
from lancespace_spark.checkpoints import query_id
from lancespace_spark.types import stored_schema
from lancespace_spark.writing import TaskMessage, results_of, write_task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from lancespace_spark.options import SourceOptions


class TableStreamWriter(DataSourceStreamArrowWriter):
    """Appends each micro batch in one commit that carries its number.

    Spark repeats a batch whose end it did not hear of. Before a commit the transactions of the table are searched for
    the batch, so a repeat changes nothing. A stream's name is the id that its checkpoint has, or ``stream_id``.

    Spark makes such an object for the tasks of a batch, and another one for its commit: only messages and the options
    lead from one to the other.
    """

    def __init__(self, options: SourceOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise UnsupportedOperationError("a stream can only append to a table: use the output mode 'append'")
        stream = _name_of(options)
        self._options = options
        existing = options.handle.latest()
        if existing is None:
            declare(options.handle)
        self._schema = stored_schema(schema, options.vectors, None if existing is None else existing.schema)
        self._batches = NumberedBatches(options.handle, self._schema, stream)
        self._name = fingerprint("stream", stream)
        job = f"{self._name}-{uuid.uuid4().hex}"
        self._stage = Stage(options.handle, job, "create" if existing is None else "append")
        self._stage.prepare()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a task: write the rows of a partition."""
        return write_task(self._stage, iterator, self._schema, self._options)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """On the driver: make the batch visible, unless it is already."""
        for stage in self._stages(messages):
            with stage.published(results_of(messages)) as fragments:
                if fragments and not self._batches.commit(fragments, batchId):
                    stage.withdraw(fragments)
        discard_all(self._options.handle, self._name)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        """On the driver, after a failure: leave nothing behind."""
        for stage in self._stages(messages):
            stage.discard()
        discard_all(self._options.handle, self._name)

    def _stages(self, messages: list[WriterCommitMessage | None]) -> list[Stage]:
        """Where the tasks have written: one place, if any has told of it."""
        jobs = {message.job for message in messages if isinstance(message, TaskMessage)}
        return [replace(self._stage, job=job) for job in jobs]


def _name_of(options: SourceOptions) -> str:
    named: str | None = options.get("stream_id")
    if named:
        return named
    if not options.checkpoint:
        raise InvalidInputError("a stream into a table needs a checkpointLocation, or the option 'stream_id'")
    return query_id(options.checkpoint)

"""Batch writes: tasks write data files, the driver commits once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError, TableAlreadyExistsError
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from lancespace.authoring import translated
from lancespace_jobs import Stage, Written, declare, take_back
from lancespace_spark.batches import NumberedBatches
from lancespace_spark.casting import cast_batch
from lancespace_spark.types import stored_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from lancespace_spark.options import SourceOptions


@dataclass
class TaskMessage(WriterCommitMessage):
    """What a task tells the driver."""

    written: Written = field(default_factory=dict)
    job: str = ""
    """The job of the stage that it was written to."""


class TableWriter(DataSourceArrowWriter):
    """Appends to a table, replaces its rows, or creates it; readers see all of it or nothing."""

    def __init__(self, options: SourceOptions, schema: StructType, *, overwrite: bool) -> None:
        if options.get("batch") is not None and (overwrite or not options.get("stream_id")):
            raise InvalidInputError(
                "the option 'batch' numbers appends of a stream: it needs 'stream_id' and mode append"
            )
        self._options = options
        existing = options.handle.latest()
        if existing is not None and options.get("create"):
            raise TableAlreadyExistsError(
                f"Table already exists: {options.handle.name!r}; leave out the option 'create' to append to it."
            )
        self._read_version = None if existing is None else existing.version
        kept = None if existing is None or overwrite else existing.schema
        self._schema = stored_schema(schema, options.vectors, kept)
        self._declared = existing is None and declare(options.handle)
        mode = "create" if existing is None else "overwrite" if overwrite else "append"
        self._stage = Stage(options.handle, uuid.uuid4().hex, mode)
        self._stage.prepare()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a task: write the rows of a partition."""
        return write_task(self._stage, iterator, self._schema, self._options)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """On the driver: make all of it visible, in one version."""
        about = f"write to table {self._options.handle.name!r}"
        with self._stage.published(results_of(messages)) as fragments, translated(about):
            if self._options.get("batch") is not None:
                stream = NumberedBatches(self._options.handle, self._schema, self._options.get("stream_id"))
                if not stream.commit(fragments, self._options.get("batch")):
                    self._stage.withdraw(fragments)
            elif fragments or self._stage.mode != "append":
                self._stage.commit(self._schema, fragments, self._read_version)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - lost tasks tell nothing
        """On the driver, after a failure: leave nothing behind."""
        self._stage.discard()
        if self._declared:
            take_back(self._options.handle)


def write_task(
    stage: Stage, batches: Iterator[pa.RecordBatch], schema: pa.Schema, options: SourceOptions
) -> TaskMessage:
    """Write the rows of a partition in the types of the table."""
    names = ("max_rows_per_file", "max_bytes_per_file")
    settings: dict[str, Any] = {name: options.get(name) for name in names if options.get(name) is not None}
    with translated(f"write to table {options.handle.name!r}"):
        written = stage.write((cast_batch(batch, schema) for batch in batches), schema, **settings)
    return TaskMessage(written, stage.job)


def results_of(messages: Iterable[WriterCommitMessage | None]) -> list[Written]:
    """What the tasks wrote; one that failed tells nothing."""
    return [message.written for message in messages if isinstance(message, TaskMessage)]

"""A stream's sink that writes each batch exactly once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError, InvalidInputError, UnsupportedOperationError
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from lancespace.errors import translate
from lancespace.jobs.stages import Stage, commit_first, declare
from lancespace_spark.types import stored_schema
from lancespace_spark.writing import results_of, write_task

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from pyspark.sql.types import StructType

    from lancespace_spark.options import SourceOptions

STREAM = "lancespace.stream"
BATCH = "lancespace.batch"
"""Properties of the transaction that wrote a batch: by them a repeated batch is known again."""

_RETRIES = 20


class TableStreamWriter(DataSourceStreamArrowWriter):
    """Appends each micro batch in one commit that carries its number.

    Spark repeats a batch whose end it did not hear of. Before a commit the transactions of the table are searched for
    the batch, so a repeat changes nothing. ``stream_id`` names the stream; by default it is its checkpoint.
    """

    def __init__(self, options: SourceOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise UnsupportedOperationError("a stream can only append to a table: use the output mode 'append'")
        self._options = options
        stream: str | None = options.get("stream_id") or options.checkpoint
        if not stream:
            raise InvalidInputError("a stream into a table needs a checkpointLocation, or the option 'stream_id'")
        self._stream = stream
        existing = options.handle.latest()
        if existing is None:
            declare(options.handle)
        self._schema = stored_schema(schema, options.vectors, None if existing is None else existing.schema)
        self._stage = Stage(options.handle, uuid.uuid4().hex, "create" if existing is None else "append")
        self._stage.prepare()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a task: write the rows of a partition."""
        return write_task(self._stage, iterator, self._schema, self._options)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """On the driver: make the batch visible, unless it is already."""
        fragments = self._stage.publish(results_of(messages))
        written = self._commit(fragments, batchId) if fragments else False
        self._stage.discard(fragments if written else ())

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        """On the driver, after a failure: leave nothing behind."""
        self._stage.discard()

    def _commit(self, fragments: list[FragmentMetadata], batch: int) -> bool:
        """False if the batch was there already. Each try looks again: who was faster may have been its twin."""
        for _ in range(_RETRIES):
            latest = self._options.handle.latest()
            if latest is not None and _has_batch(latest, self._stream, batch):
                return False
            try:
                self._try(latest, fragments, batch)
            except OSError as error:
                failure = translate(error, about=f"write batch {batch} to table {self._options.handle.name!r}")
                if not isinstance(failure, ConcurrentModificationError):
                    raise failure from error
            else:
                return True
        raise ConcurrentModificationError(f"others committed {_RETRIES} times in a row while batch {batch} was written")

    def _try(self, latest: lance.LanceDataset | None, fragments: list[FragmentMetadata], batch: int) -> None:
        import lance
        from lance.dataset import Transaction

        named = {STREAM: self._stream, BATCH: str(batch)}
        if latest is not None:
            append = lance.LanceOperation.Append(fragments)
            transaction = Transaction(latest.version, append, transaction_properties=named)
            lance.LanceDataset.commit(latest, transaction, max_retries=0)
            return
        overwrite = lance.LanceOperation.Overwrite(self._schema, fragments)
        first = Transaction(0, overwrite, transaction_properties=named)
        commit_first(self._options.handle.place(), first)


def _has_batch(dataset: lance.LanceDataset, stream: str, batch: int) -> bool:
    """Whether the latest batch of this stream in the table is that one or a later one."""
    for version in sorted((entry["version"] for entry in dataset.versions()), reverse=True):
        transaction = dataset.read_transaction(version)
        named = (transaction.transaction_properties or {}) if transaction is not None else {}
        if named.get(STREAM) == stream:
            return int(named[BATCH]) >= batch
    return False

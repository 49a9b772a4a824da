"""Batch writes: tasks write data files, the driver commits once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lance_namespace import TableAlreadyExistsError
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from lancespace.errors import translated
from lancespace_spark.stages import Stage
from lancespace_spark.types import stored_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata
    from pyspark.sql.types import StructType

    from lancespace.tables.access import TableRef
    from lancespace_spark.handles import TableHandle
    from lancespace_spark.options import SourceOptions


class TableWriter(DataSourceArrowWriter):
    """Appends to a table, replaces its rows, or creates it; readers see all of it or nothing."""

    def __init__(self, options: SourceOptions, schema: StructType, *, overwrite: bool) -> None:
        self._options = options
        existing = options.handle.latest()
        if existing is not None and options.get("create"):
            raise TableAlreadyExistsError(
                f"The table {options.handle.name!r} exists already: leave out the option 'create' to append to it."
            )
        self._read_version = None if existing is None else existing.version
        self._declared = existing is None and declare(options.handle)
        kept = None if existing is None or overwrite else existing.schema
        self._schema = stored_schema(schema, options.vectors, kept)
        mode = "create" if existing is None else "overwrite" if overwrite else "append"
        self._stage = Stage(options.handle, uuid.uuid4().hex, mode)
        self._stage.prepare()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a task: write the rows of a partition."""
        return self._stage.write(iterator, self._schema, **write_settings(self._options))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """On the driver: make all of it visible, in one version."""
        fragments = self._stage.publish(messages)
        if fragments or self._stage.mode != "append":
            with translated(f"write to table {self._options.handle.name!r}"):
                commit(self._options.handle, self._schema, fragments, self._stage.mode, self._read_version)
        self._stage.discard(fragments)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - lost tasks tell nothing
        """On the driver, after a failure: leave nothing behind."""
        self._stage.discard()
        if self._declared:
            self._options.handle.namespace.drop_table(list(self._options.handle.id))


def write_settings(options: SourceOptions) -> dict[str, Any]:
    """What the options say about data files."""
    names = ("max_rows_per_file", "max_bytes_per_file")
    return {name: options.get(name) for name in names if options.get(name) is not None}


def declare(handle: TableHandle) -> bool:
    """Reserve the name of a new table; False if it is reserved already."""
    try:
        handle.namespace.declare_table(list(handle.id))
    except TableAlreadyExistsError:
        return False
    return True


def commit(
    handle: TableHandle, schema: pa.Schema, fragments: list[FragmentMetadata], mode: str, read_version: int | None
) -> int:
    """Make fragments visible in one version, and answer its number.

    An append goes on top of whatever is the latest then; an overwrite or a first version must be the next after the
    one that was there when the write was planned.
    """
    import lance

    if mode == "append":
        operation: Any = lance.LanceOperation.Append(fragments)
        done = lance.LanceDataset.commit(handle.open(), operation, read_version=read_version)
    elif mode == "overwrite":
        operation = lance.LanceOperation.Overwrite(schema, fragments)
        done = lance.LanceDataset.commit(handle.open(), operation, read_version=read_version, max_retries=0)
    else:
        done = _first_version(handle.place(), lance.LanceOperation.Overwrite(schema, fragments))
    version: int = done.version
    return version


def _first_version(place: TableRef, operation: Any) -> Any:
    import lance

    options = dict(place.storage_options)
    return lance.LanceDataset.commit(
        place.location, operation, storage_options=options, max_retries=0, **place.committing()
    )

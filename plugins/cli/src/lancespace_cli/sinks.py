"""Writing rows as files. A file appears whole or not at all."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lancespace_cli.values import to_json

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[["pa.RecordBatch"], None]
SUFFIXES = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
}


@contextmanager
def sink(target: str, kind: str, schema: pa.Schema) -> Iterator[Write]:
    """Write batches to a path, a URL, or ``-`` for standard output; the schema is theirs."""
    if target == "-":
        with _WRITERS[kind](sys.stdout.buffer, schema, is_stream=True) as write:
            yield write
        sys.stdout.buffer.flush()
        return
    with _opened(target) as file, _WRITERS[kind](file, schema, is_stream=False) as write:
        yield write


def delete(target: str) -> None:
    """Remove a file that was written."""
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(target)
    filesystem.rm_file(path)


@contextmanager
def _opened(target: str) -> Iterator[IO[bytes]]:
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(target)
    if filesystem.protocol[0] != "file":
        with filesystem.transaction, filesystem.open(path, "wb") as file:
            yield file
        return
    partial = Path(path).with_name(f".{uuid.uuid4().hex}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _parquet(file: Any, schema: pa.Schema, *, is_stream: bool) -> Iterator[Write]:
    del is_stream
    from pyarrow import parquet

    with parquet.ParquetWriter(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _arrow(file: Any, schema: pa.Schema, *, is_stream: bool) -> Iterator[Write]:
    import pyarrow as pa

    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _csv(file: Any, schema: pa.Schema, *, is_stream: bool) -> Iterator[Write]:
    """Lists and structs, such as vectors, become JSON."""
    del is_stream
    import pyarrow as pa
    from pyarrow import csv

    nested = [at for at, field in enumerate(schema) if pa.types.is_nested(field.type)]
    flat = schema
    for at in nested:
        flat = flat.set(at, pa.field(schema.field(at).name, pa.string()))
    with csv.CSVWriter(file, flat) as writer:

        def write(batch: pa.RecordBatch) -> None:
            columns = list(batch.columns)
            for at in nested:
                columns[at] = pa.array([None if one is None else to_json(one) for one in columns[at].to_pylist()])
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=flat))

        yield write


@contextmanager
def _json(file: Any, schema: pa.Schema, *, is_stream: bool) -> Iterator[Write]:
    del schema, is_stream

    def write(batch: pa.RecordBatch) -> None:
        file.write("".join(f"{to_json(row)}\n" for row in batch.to_pylist()).encode())

    yield write


_WRITERS: dict[str, Any] = {"parquet": _parquet, "csv": _csv, "json": _json, "arrow": _arrow}

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

FORMATS = ("parquet", "csv", "json", "arrow")
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
        with _writer(sys.stdout.buffer, kind, schema, is_stream=True) as write:
            yield write
        sys.stdout.buffer.flush()
        return
    with _opened(target) as file, _writer(file, kind, schema, is_stream=False) as write:
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
def _writer(file: Any, kind: str, schema: pa.Schema, *, is_stream: bool) -> Iterator[Write]:
    import pyarrow as pa
    from pyarrow import csv, parquet

    match kind:
        case "parquet":
            with parquet.ParquetWriter(file, schema) as writer:
                yield writer.write_batch
        case "arrow":
            with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(file, schema) as writer:
                yield writer.write_batch
        case "csv":
            flat = pa.schema([_flat_field(field) for field in schema])
            with csv.CSVWriter(file, flat) as writer:
                yield lambda batch: writer.write_batch(_flat(batch, flat))
        case _:
            yield lambda batch: file.write("".join(f"{to_json(row)}\n" for row in batch.to_pylist()).encode())


def _flat_field(field: pa.Field) -> pa.Field:
    """Lists and structs, such as vectors, become JSON in a CSV file."""
    import pyarrow as pa

    return pa.field(field.name, pa.string()) if pa.types.is_nested(field.type) else field


def _flat(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [
        pa.array([None if one is None else to_json(one) for one in column.to_pylist()])
        if pa.types.is_nested(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)

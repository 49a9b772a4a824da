"""Rows from standard input, as a stream of batches in the columns of a table."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = {"parquet": "parquet", "csv": "csv", "json": "json", "arrow": "ipc"}
"""What people call the formats, and what Arrow calls them."""


def standard_input(kind: str) -> pa.RecordBatchReader:
    """The rows on standard input.

    Raises:
        InvalidInputError: If they are not of that format.
    """
    from lancespace.authoring import translated

    with translated(f"read {kind} from standard input"):
        return _opened(kind, sys.stdin.buffer)


def conformed(rows: pa.RecordBatchReader, schema: pa.Schema, seen: Callable[[int], None]) -> pa.RecordBatchReader:
    """The same rows with a table's columns; ``seen`` is told of as many as have passed.

    Raises:
        InvalidInputError: If they have a column that the table lacks, or lack one that must not be null.
    """
    import pyarrow as pa
    from lance_namespace import InvalidInputError

    unknown = [name for name in rows.schema.names if name not in schema.names]
    missing = [field.name for field in schema if field.name not in rows.schema.names and not field.nullable]
    if unknown or missing:
        what = f"the table has no column {', '.join(unknown)}" if unknown else f"{', '.join(missing)} must not be null"
        raise InvalidInputError(f"The input does not fit: {what}. The table has: {', '.join(schema.names)}.")

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            yield pa.RecordBatch.from_arrays([_column(batch, field) for field in schema], schema=schema)
            seen(batch.num_rows)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    return batch.column(field.name).cast(field.type)


def _opened(kind: str, stream: IO[bytes]) -> Any:
    import pyarrow as pa
    from pyarrow import csv, json, parquet

    match kind:
        case "csv":
            return csv.open_csv(stream)
        case "json":
            return json.open_json(stream)
        case "arrow":
            return pa.ipc.open_stream(stream)
    spooled = tempfile.TemporaryFile()  # noqa: SIM115 - it is read while the rows are, and gone with them
    shutil.copyfileobj(stream, spooled)  # The index of a Parquet file is at its end.
    file = parquet.ParquetFile(spooled)
    return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())

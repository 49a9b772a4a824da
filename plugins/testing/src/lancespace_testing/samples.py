"""The data that the tests write, small enough to be read at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 2)),
    ]
)

_NAMES = ("red apple", "green apple", "red pear", "green pear", "yellow lemon", "blue plum")

COUNT = len(_NAMES)
"""How many rows the sample table has; their ids are 0 to ``COUNT - 1`` and their vectors ``[id, 0]``."""


def sample(start: int = 0, stop: int = COUNT) -> pa.Table:
    """The rows with the ids from ``start`` up to ``stop``."""
    return table_of([row(number) for number in range(start, stop)])


def row(number: int, name: str | None = None) -> Row:
    """One row of the sample, by its id, under another name if wanted."""
    return {"id": number, "name": name or _NAMES[number % COUNT], "vector": [float(number), 0.0]}


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Rows as a table with the schema of the sample."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def stream(table: pa.Table, *, batch_rows: int | None = None) -> bytes:
    """A table as the bytes of an Arrow IPC stream, which is how the spec carries data in."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unfile(data: bytes) -> pa.Table:
    """The inverse for results: the bytes of an Arrow IPC file, which is how the spec carries query results out."""
    return pa.ipc.open_file(pa.BufferReader(data)).read_all()

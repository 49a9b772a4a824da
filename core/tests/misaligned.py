"""Arrow data as other libraries pass it: with buffers at any address."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def misaligned(table: pa.Table, shift: int) -> pa.Table:
    """The same table, with every buffer at an address that is ``shift`` after a multiple of 8."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream = sink.getvalue()
    memory = pa.allocate_buffer(stream.size + shift)
    memoryview(memory).cast("B")[shift:] = memoryview(stream).cast("B")
    return pa.ipc.open_stream(memory.slice(shift)).read_all()


class Foreign:
    """Data of a library that shares nothing with pyarrow but the C interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

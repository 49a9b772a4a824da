"""Arrow data on its way into an operation.

The spec's clients pass Arrow IPC bytes, people pass what they have. :class:`ArrowData` takes either and gives a backend
the form it wants: a reader to write from, or a stream of IPC bytes to send on. Nothing is converted before a backend
asks, and nothing is materialised: a table larger than memory passes through as a stream of batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Union

from lance_namespace import InvalidInputError

from lancespace._parts import Parts, pieces, sliced

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import BaseModel

ArrowLike = Union[bytes, bytearray, memoryview, "pa.Table", "pa.RecordBatch", "pa.RecordBatchReader", Any]
"""What people may pass as data: IPC stream bytes, anything with the Arrow C stream or array interface (pyarrow,
polars, pandas, DuckDB and others), a list or a generator of such, or a list of dicts."""


class ArrowData:
    """The Arrow data of one call; it may be read once, as a reader or as bytes."""

    def __init__(self, source: ArrowLike) -> None:
        self._source = source

    def reader(self) -> pa.RecordBatchReader:
        """The data as a record batch reader, with buffers that Lance takes: see :mod:`lancespace._alignment`.

        Raises:
            InvalidInputError: If the source is not Arrow data.
        """
        import pyarrow as pa

        from lancespace._alignment import aligned

        reader = self._reader()
        batches = _whole(reader) if self.ipc_length is not None else reader
        return pa.RecordBatchReader.from_batches(reader.schema, aligned(batches))

    def _reader(self) -> pa.RecordBatchReader:
        with _refused():
            return _to_reader(self._source)

    @property
    def is_replayable(self) -> bool:
        """Whether the data may be read again: bytes, tables, frames and lists of such may, a reader may not."""
        return _is_replayable(self._source)

    @property
    def ipc_length(self) -> int | None:
        """How many bytes :meth:`ipc_stream` has, where that is known beforehand."""
        return memoryview(self._source).nbytes if isinstance(self._source, (bytes, bytearray, memoryview)) else None

    def ipc_stream(self, compression: str | None = None) -> Iterator[bytes | memoryview]:
        """The data as chunks of an Arrow IPC stream; bytes pass through untouched.

        ``compression`` is ``lz4`` or ``zstd``, for the buffers of what is encoded here.
        """
        if isinstance(self._source, (bytes, bytearray, memoryview)):
            yield from sliced(memoryview(self._source).cast("B"))
        else:
            yield from _encode(self._reader(), compression)


class StreamedAnswer(ABC):
    """Query results that a backend has not read yet; asked once, for the one form or the other."""

    @abstractmethod
    def reader(self) -> pa.RecordBatchReader:
        """The batches as they come."""

    @abstractmethod
    def response(self) -> BaseModel:
        """The spec's response model: all of the data in memory, and the context that came with it."""


def to_ipc_file(reader: pa.RecordBatchReader) -> bytes:
    """All batches of a reader as one Arrow IPC file, which is how the spec carries query results."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    result: bytes = sink.getvalue().to_pybytes()
    return result


def from_ipc_file(data: bytes) -> pa.RecordBatchReader:
    """The inverse of :func:`to_ipc_file`, without copying the batches."""
    import pyarrow as pa

    file = pa.ipc.open_file(pa.BufferReader(data))
    batches = (file.get_batch(number) for number in range(file.num_record_batches))
    return pa.RecordBatchReader.from_batches(file.schema, batches)


@contextmanager
def _refused() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise InvalidInputError(f"The data is not a valid Arrow IPC stream or table: {error}") from error


def _whole(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches of bytes that were sent, which may break off."""
    with _refused():
        yield from reader


def _is_replayable(source: ArrowLike) -> bool:
    """A list is so only if all that it holds is: a reader in it would be empty the second time."""
    if isinstance(source, list):
        return all(isinstance(part, dict) or _is_replayable(part) for part in source)
    return isinstance(source, (bytes, bytearray, memoryview)) or hasattr(source, "shape")


def _to_reader(source: ArrowLike) -> pa.RecordBatchReader:
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return pa.ipc.open_stream(pa.py_buffer(source))
    if hasattr(source, "__arrow_c_stream__") and not _is_pandas(source):
        return pa.RecordBatchReader.from_stream(source)
    if isinstance(source, Iterator) or (isinstance(source, list) and source and all(map(_is_arrow, source))):
        return _chained(iter(source))
    return _to_table(source).to_reader()


def _to_table(source: ArrowLike) -> pa.Table:
    import pyarrow as pa

    if _is_pandas(source):
        return pa.Table.from_pandas(source, preserve_index=False)
    if hasattr(source, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(source)])
    if isinstance(source, list) and source and all(isinstance(row, dict) for row in source):
        return pa.Table.from_pylist(source)
    raise InvalidInputError(
        f"Cannot take {type(source).__name__} as data: pass an Arrow table, reader or IPC stream bytes, "
        "a pandas or polars frame, a generator of batches, or a list of dicts with at least one row."
    )


def _chained(parts: Iterator[Any]) -> pa.RecordBatchReader:
    """One stream of several batches, tables or frames, made as they are read; the first one has the schema."""
    import pyarrow as pa

    first = next(parts, None)
    if first is None:
        raise InvalidInputError(
            "Cannot take a generator as data that yields nothing, as there is no schema: "
            "pass an Arrow table without rows, or a pyarrow.RecordBatchReader."
        )
    begun = _part(first)
    batches = (batch for reader in chain([begun], map(_part, parts)) for batch in reader)
    return pa.RecordBatchReader.from_batches(begun.schema, batches)


def _part(source: Any) -> pa.RecordBatchReader:
    if not _is_arrow(source):
        raise InvalidInputError(
            f"Cannot take a generator of {type(source).__name__} as data: have it yield Arrow batches or tables."
        )
    return _to_reader(source)


def _is_arrow(source: object) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _is_pandas(source: object) -> bool:
    """Whether it is a data frame of pandas, whose own stream has the index as a column."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def _encode(reader: Iterable[pa.RecordBatch], compression: str | None) -> Iterator[bytes | memoryview]:
    import pyarrow as pa

    sink = Parts()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), reader.schema, options=options) as writer:  # type: ignore[attr-defined]
        for batch in reader:
            writer.write_batch(batch)
            yield from pieces(sink.take())
    yield from pieces(sink.take())

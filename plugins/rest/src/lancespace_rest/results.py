"""Query results: Arrow data that is read while it comes, so that memory stays flat.

The spec answers an Arrow IPC file. Such a file is a stream between a head and a footer, so it can be read from its
beginning to its end like the stream that a server may answer instead.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests
from lance_namespace import InternalError, ServiceUnavailableError
from urllib3.exceptions import HTTPError

from lancespace.arrow import StreamedAnswer, to_ipc_file
from lancespace.models import model
from lancespace_rest import failures
from lancespace_rest.headers import to_context
from lancespace_rest.transport import Message, read, receive

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import BaseModel

_FILE_MAGIC = b"ARROW1"
_STREAM_MAGIC = b"\xff\xff\xff\xff"
_MOST = 1 << 18
"""How much is read at a time: more seldom waits in the socket, and Python sets aside as much as is asked for."""

_BLOCK = 8
"""Arrow aligns everything to eight bytes: the head of a file, its padding, the beginning of a message."""


class QueryResults(StreamedAnswer):
    """The answer to a query, of which only the first bytes have been read, to see that it is Arrow data."""

    def __init__(self, message: Message, answer: requests.Response) -> None:
        self._message = message
        self._answer = answer
        self._incoming = _Incoming(message, answer)
        self._head = self._incoming.read(_BLOCK)
        if not self._head.startswith((_FILE_MAGIC, _STREAM_MAGIC)):
            body = self._head + read(answer, message.deadline)
            raise failures.not_understood(message.about, "Arrow data", answer, body)

    def reader(self) -> pa.RecordBatchReader:
        """The batches as they come.

        It raises ServiceUnavailableError when the answer is cut off; the batches before that are whole.
        """
        import pyarrow as pa

        if self._head.startswith(_FILE_MAGIC):
            self._skip_padding()
        else:
            self._incoming.give_back(self._head)
        with self._valid():
            stream = pa.ipc.open_stream(pa.PythonFile(self._incoming, mode="r"))
        return pa.RecordBatchReader.from_batches(stream.schema, self._batches(stream))

    def response(self) -> BaseModel:
        """All of it, as an Arrow IPC file."""
        if self._head.startswith(_FILE_MAGIC):
            data = self._head + self._incoming.read()
            self._check_footer(data)
        else:
            data = to_ipc_file(self.reader())
        return model(self._message.operation.response).model_validate(
            {"data": data, "context": to_context(self._answer.headers)}
        )

    def _batches(self, stream: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches; after the last one the footer is read too, so that the connection can be used again."""
        with self._incoming, self._valid():
            yield from stream
            self._incoming.drain()

    @contextmanager
    def _valid(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise InternalError(f"{self._message.about}: the answer is not valid Arrow data: {error}") from error

    def _skip_padding(self) -> None:
        """Go to the first message of a file; how far its head is padded is up to the writer."""
        while (block := self._incoming.read(_BLOCK)) == bytes(_BLOCK):
            pass
        self._incoming.give_back(block)

    def _check_footer(self, data: bytes) -> None:
        if not data.endswith(_FILE_MAGIC):
            raise self._incoming.cut_off("the footer of the file is missing")


class _Incoming(io.RawIOBase):
    """The body of an answer as a file; it ends with an error, and not quietly, where the answer was cut off."""

    def __init__(self, message: Message, answer: requests.Response) -> None:
        super().__init__()
        self._message = message
        self._answer = answer
        self._pending = b""
        self._count = 0
        head = {name.lower() for name in answer.headers}
        self._has_length = bool({"content-length", "transfer-encoding"} & head)

    def readable(self) -> bool:
        return True

    def give_back(self, data: bytes) -> None:
        """Let the next read begin with these bytes."""
        self._pending = data

    def read(self, size: int | None = -1) -> bytes:
        """As many bytes as are asked for; fewer only at the end."""
        if size is None or size < 0:
            pending, self._pending = self._pending, b""
            return b"".join([pending, *self._rest()])
        return b"".join(self._pieces(size))

    def read_buffer(self, size: int) -> pa.Buffer:
        """The same for pyarrow, which keeps the memory of a batch for the next one.

        Python's would go back to the kernel after each batch, and come back cleared: that takes longer than the copy.
        """
        import pyarrow as pa

        buffer = pa.allocate_buffer(size)
        sink = pa.FixedSizeBufferWriter(buffer)
        for piece in self._pieces(size):
            sink.write(piece)
        return buffer.slice(0, sink.tell())

    def drain(self) -> None:
        """Read to the end, for nothing but the connection's sake."""
        for _ in self._rest():
            pass

    def close(self) -> None:
        """Give the connection back, or close it if the answer was not read to its end."""
        if not self.closed:
            self._answer.close()
        super().close()

    def cut_off(self, reason: object) -> ServiceUnavailableError:
        """The error for an answer that ended too early."""
        return ServiceUnavailableError(
            f"{self._message.about}: the answer was cut off after {self._count} bytes: {reason}. Repeat the query."
        )

    def _pieces(self, size: int) -> Iterator[bytes]:
        if self._pending:
            piece, self._pending = self._pending[:size], self._pending[size:]
            size -= len(piece)
            yield piece
        while size and (piece := self._receive(min(size, _MOST))):
            size -= len(piece)
            yield piece
        if size and not self._has_length:  # Only the data tells whether it is whole, and it asks for more.
            raise self.cut_off("the connection was closed")

    def _rest(self) -> Iterator[bytes]:
        while piece := self._receive(_MOST):
            yield piece

    def _receive(self, most: int) -> bytes:
        try:
            piece = receive(self._answer, self._message.deadline, most)
        except (HTTPError, OSError) as error:
            root = failures.root_of(error)
            raise self.cut_off(root) from root
        self._count += len(piece)
        return piece

"""Query results: Arrow data that is read while it comes, so that memory stays flat.

The spec answers an Arrow IPC file. Such a file is a stream between a head and a footer, so it can be read from its
beginning to its end like the stream that a server may answer instead.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from lance_namespace import InternalError, ServiceUnavailableError
from urllib3.exceptions import HTTPError

from lancespace.arrow import StreamedAnswer, to_ipc_file
from lancespace.models import model
from lancespace_rest import failures
from lancespace_rest.headers import to_context
from lancespace_rest.reading import first, read_error, receive

if TYPE_CHECKING:
    import pyarrow as pa
    import requests
    from pydantic import BaseModel

    from lancespace_rest.messages import Message
    from lancespace_rest.transport import Exchange

Taken = TypeVar("Taken")

_FILE_MAGIC = b"ARROW1"
_STREAM_MAGIC = b"\xff\xff\xff\xff"
_MOST = 1 << 18
"""How much is read at a time: more seldom waits in the socket, and Python sets aside as much as is asked for."""

_BLOCK = 8
"""Arrow aligns everything to eight bytes: the head of a file, its padding, the beginning of a message."""


class QueryResults(StreamedAnswer):
    """The answer to a query, of which only the first bytes have been read, to see that it is Arrow data.

    As long as nothing of it has been handed out, an answer that breaks off is asked for again, like that of any read.
    """

    def __init__(self, exchange: Exchange, answer: requests.Response) -> None:
        self._exchange = exchange
        self._message = exchange.message
        self._begin(answer)

    def reader(self) -> pa.RecordBatchReader:
        """The batches as they come.

        It raises ServiceUnavailableError when the answer is cut off; the batches before that are whole.
        """
        return self._repeated(self._open)

    def response(self) -> BaseModel:
        """All of it, as an Arrow IPC file."""
        data = self._repeated(self._whole)
        return model(self._message.operation.response).model_validate(
            {"data": data, "context": to_context(self._answer.headers)}
        )

    def _begin(self, answer: requests.Response) -> None:
        """Take an answer; the first bytes are read here, where the exchange still asks again if there are none."""
        head = first(answer, self._message.deadline, _BLOCK)
        if not head.startswith((_FILE_MAGIC, _STREAM_MAGIC)):
            body = read_error(answer, self._message.deadline, head)
            raise failures.not_understood(self._message.about, "Arrow data", answer, body)
        self._answer = answer
        self._is_file = head.startswith(_FILE_MAGIC)
        self._incoming = _Incoming(self._message, answer, head)

    def _repeated(self, step: Callable[[], Taken]) -> Taken:
        """What a step makes of the answer, or of another one if this one breaks off before the step is done."""
        while True:
            try:
                return step()
            except ServiceUnavailableError as error:
                self._incoming.close()
                failure = error
            self._exchange.after_failure(failure)
            self._exchange.run(self._begin)

    def _open(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        if self._is_file:
            self._skip_head()
        with self._valid():
            stream = pa.ipc.open_stream(pa.PythonFile(self._incoming, mode="r"))
        return pa.RecordBatchReader.from_batches(stream.schema, self._batches(stream))

    def _whole(self) -> bytes:
        if not self._is_file:
            return to_ipc_file(self._open())
        with self._incoming:
            data = self._incoming.read()
            self._check_footer(data)
        return data

    def _batches(self, stream: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches; after the last one the rest is read too, so that the connection can be used again."""
        with self._incoming, self._valid():
            yield from stream
            end = self._incoming.drain()
            if self._is_file:
                self._check_footer(end)

    @contextmanager
    def _valid(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise InternalError(f"{self._message.about}: the answer is not valid Arrow data: {error}") from error

    def _skip_head(self) -> None:
        """Go to the first message of a file; how far its head is padded is up to the writer."""
        self._incoming.read(_BLOCK)
        while (block := self._incoming.read(_BLOCK)) == bytes(_BLOCK):
            pass
        self._incoming.give_back(block)

    def _check_footer(self, data: bytes) -> None:
        """Without the footer, a file may have ended between two batches, which its stream does not notice."""
        if not data.endswith(_FILE_MAGIC):
            raise self._incoming.cut_off("the footer of the file is missing")


class _Incoming(io.RawIOBase):
    """The body of an answer as a file; it ends with an error, and not quietly, where the answer was cut off."""

    def __init__(self, message: Message, answer: requests.Response, head: bytes) -> None:
        super().__init__()
        self._message = message
        self._answer = answer
        self._pending = head
        self._count = len(head)

    def readable(self) -> bool:
        return True

    def give_back(self, data: bytes) -> None:
        """Let the next read begin with these bytes."""
        self._pending = data

    def read(self, size: int | None = -1) -> bytes:
        """As many bytes as are asked for, or all that are left."""
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

    def drain(self) -> bytes:
        """Read to the end, for the connection's sake; the last bytes."""
        end = b""
        for piece in self._rest():
            end = (end + piece if len(piece) < _BLOCK else piece)[-_BLOCK:]
        return end

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
        if size:  # Whoever asks for a number of bytes has not seen the marker that ends the stream.
            raise self.cut_off("its data is not complete")

    def _rest(self) -> Iterator[bytes]:
        while piece := self._receive(_MOST):
            yield piece

    def _receive(self, most: int) -> bytes:
        try:
            piece = receive(self._answer, self._message.deadline, most)
        except (HTTPError, OSError) as error:
            failure = error
        else:
            self._count += len(piece)
            return piece
        self._message.deadline.remaining()
        root = failures.root_of(failure)
        raise self.cut_off(root) from root

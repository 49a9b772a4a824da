"""Query results: Arrow data that is read while it comes, so that memory stays flat.

The spec answers an Arrow IPC file. Such a file is a stream between a head and a footer, so it can be read from its
beginning to its end like the stream that a server may answer instead.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
import requests
from lance_namespace import InternalError, ServiceUnavailableError
from pydantic import BaseModel
from urllib3.exceptions import HTTPError

from lancespace.authoring import StreamedAnswer, model, to_ipc_file
from lancespace_rest import errors
from lancespace_rest.headers import to_context
from lancespace_rest.messages import Message
from lancespace_rest.responses import first, read_error, receive
from lancespace_rest.transport import Exchange

Taken = TypeVar("Taken")

_FILE_MAGIC = b"ARROW1"
_STREAM_MAGIC = b"\xff\xff\xff\xff"
_BLOCK = 8
"""Arrow aligns everything to eight bytes: the head of a file, its padding, the beginning of a message."""
_MOST = 1 << 18
"""How much is read at a time: more waits in the socket less often, and Python sets aside as much as is asked for."""


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
            raise errors.not_understood(self._message.about, "Arrow data", answer, body)
        self._answer = answer
        self._is_file = head.startswith(_FILE_MAGIC)
        self._file = ResponseFile(self._message, answer, head)

    def _repeated(self, step: Callable[[], Taken]) -> Taken:
        """What a step makes of the answer, or of another one if this one breaks off before the step is done."""
        while True:
            try:
                return step()
            except ServiceUnavailableError as error:
                self._file.close()
                failure = error
            self._exchange.after_failure(failure)
            self._exchange.run(self._begin)

    def _open(self) -> pa.RecordBatchReader:
        if self._is_file:
            self._file.skip_head()
        with self._valid():
            stream = pa.ipc.open_stream(pa.PythonFile(self._file, mode="r"))
        return pa.RecordBatchReader.from_batches(stream.schema, self._batches(stream))

    def _whole(self) -> bytes:
        if not self._is_file:
            return to_ipc_file(self._open())
        with self._file:
            data = self._file.read()
            self._check_footer(data)
        return data

    def _batches(self, stream: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches; after the last one the rest is read too, so that the connection can be used again."""
        with self._file, self._valid():
            yield from stream
            end = self._file.drain()
            if self._is_file:
                self._check_footer(end)

    @contextmanager
    def _valid(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise InternalError(f"{self._message.about}: the answer is not valid Arrow data: {error}") from error

    def _check_footer(self, data: bytes) -> None:
        """Without the footer, a file may have ended between two batches, which its stream does not notice."""
        if not data.endswith(_FILE_MAGIC):
            raise self._file.cut_off("the footer of the file is missing")


class ResponseFile(io.RawIOBase):
    """The body of an answer as a file; it ends with an error, and not quietly, where the answer was cut off."""

    def __init__(self, message: Message, answer: requests.Response, head: bytes) -> None:
        super().__init__()
        self._message = message
        self._answer = answer
        self._pending = head
        self._count = len(head)

    def readable(self) -> bool:
        """What pyarrow asks before it reads."""
        return True

    def skip_head(self) -> None:
        """Go to the first message of a file; how far its head is padded is up to the writer."""
        self.read(_BLOCK)
        while (block := self.read(_BLOCK)) == bytes(_BLOCK):
            pass
        self._pending = block

    def read(self, size: int | None = None) -> bytes:
        """As many bytes as are asked for, or all that are left."""
        return b"".join(self._pieces(size))

    def read_buffer(self, size: int) -> pa.Buffer:
        """The same for pyarrow, which keeps the memory of a batch for the next one.

        Python's would go back to the kernel after each batch, and come back cleared: that takes longer than the copy.
        """
        buffer = pa.allocate_buffer(size)
        sink = pa.FixedSizeBufferWriter(buffer)
        for piece in self._pieces(size):
            sink.write(piece)
        return buffer.slice(0, sink.tell())

    def drain(self) -> bytes:
        """Read to the end, for the connection's sake; the last bytes."""
        end = b""
        for piece in self._pieces(None):
            end = (end + piece)[-_BLOCK:]
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

    def _pieces(self, size: int | None) -> Iterator[bytes]:
        left = sys.maxsize if size is None else size
        while left and (piece := self._receive(min(left, _MOST))):
            left -= len(piece)
            yield piece
        if left and size is not None:  # pyarrow asks for more only until it has seen the marker that ends a stream.
            raise self.cut_off("its data is not complete")

    def _receive(self, most: int) -> bytes:
        if self._pending:
            piece, self._pending = self._pending[:most], self._pending[most:]
            return piece
        try:
            piece = receive(self._answer, self._message.deadline, most)
        except (HTTPError, OSError) as error:
            failure = error
        else:
            self._count += len(piece)
            return piece
        self._message.deadline.remaining()
        root = errors.root_of(failure)
        raise self.cut_off(root) from root

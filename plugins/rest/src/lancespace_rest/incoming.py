"""The body of an answer as a file, for pyarrow to read from while it comes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lance_namespace import ServiceUnavailableError
from urllib3.exceptions import HTTPError

from lancespace_rest import causes
from lancespace_rest.reading import receive

if TYPE_CHECKING:
    import pyarrow as pa
    import requests

    from lancespace_rest.messages import Message

BLOCK = 8
"""Arrow aligns everything to eight bytes: the head of a file, its padding, the beginning of a message."""

_MOST = 1 << 18
"""How much is read at a time: more seldom waits in the socket, and Python sets aside as much as is asked for."""


class Incoming(io.RawIOBase):
    """The body of an answer as a file; it ends with an error, and not quietly, where the answer was cut off."""

    def __init__(self, message: Message, answer: requests.Response, head: bytes) -> None:
        super().__init__()
        self._message = message
        self._answer = answer
        self._pending = head
        self._count = len(head)

    def readable(self) -> bool:
        """It is for reading."""
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
            end = (end + piece if len(piece) < BLOCK else piece)[-BLOCK:]
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
        root = causes.root_of(failure)
        raise self.cut_off(root) from root

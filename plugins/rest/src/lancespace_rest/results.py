"""Query results: Arrow data that is read while it comes, so that memory stays flat.

The spec answers an Arrow IPC file. Such a file is a stream between a head and a footer, so it can be read from its
beginning to its end like the stream that a server may answer instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from lance_namespace import InternalError, ServiceUnavailableError

from lancespace.arrow import StreamedAnswer, to_ipc_file
from lancespace.models import model
from lancespace_rest import failures
from lancespace_rest.headers import to_context
from lancespace_rest.incoming import BLOCK, Incoming
from lancespace_rest.reading import first, read_error

if TYPE_CHECKING:
    import pyarrow as pa
    import requests
    from pydantic import BaseModel

    from lancespace_rest.transport import Exchange

Taken = TypeVar("Taken")

_FILE_MAGIC = b"ARROW1"
_STREAM_MAGIC = b"\xff\xff\xff\xff"


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
        head = first(answer, self._message.deadline, BLOCK)
        if not head.startswith((_FILE_MAGIC, _STREAM_MAGIC)):
            body = read_error(answer, self._message.deadline, head)
            raise failures.not_understood(self._message.about, "Arrow data", answer, body)
        self._answer = answer
        self._is_file = head.startswith(_FILE_MAGIC)
        self._incoming = Incoming(self._message, answer, head)

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
        self._incoming.read(BLOCK)
        while (block := self._incoming.read(BLOCK)) == bytes(BLOCK):
            pass
        self._incoming.give_back(block)

    def _check_footer(self, data: bytes) -> None:
        """Without the footer, a file may have ended between two batches, which its stream does not notice."""
        if not data.endswith(_FILE_MAGIC):
            raise self._incoming.cut_off("the footer of the file is missing")

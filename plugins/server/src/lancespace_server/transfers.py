"""One call of an operation over ASGI: take the body in, run the operation in a thread, send the answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import InvalidInputError, LanceNamespaceError

from lancespace.arrow import from_ipc_file
from lancespace.errors import translated
from lancespace.operations import Payload
from lancespace_server import answers, failures, incoming
from lancespace_server.authorization import authorize
from lancespace_server.calls import Call
from lancespace_server.deadlines import Deadline
from lancespace_server.downloads import Abandoned, Download
from lancespace_server.uploads import Disconnected, Upload

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from lancespace.operations import Operation
    from lancespace_server.downloads import Chunk
    from lancespace_server.exchange import Exchange
    from lancespace_server.services import Services
    from lancespace_server.types import Message

_FILE_MAGIC = b"ARROW1"
_ARROW_TYPES = (answers.ARROW_STREAM, b"application/octet-stream")


class Transfer(Call):
    """The request of one operation on its way in, and the answer on its way out."""

    def __init__(self, services: Services, exchange: Exchange, operation: Operation, segments: list[str]) -> None:
        super().__init__(services, exchange, operation, segments)
        self._settings = services.settings
        self._pool = services.pool
        self._lane = services.pool.transfers
        self._policy = services.policy
        self._exchange = exchange

    async def answer(self) -> None:
        """Do it all."""
        if self._operation.takes_data:
            await self._take_data()
        elif self._operation.result is Payload.ARROW_FILE:
            await self._give_data()
        else:
            await self._reply(await self._run(self._request(await self._json_body())))

    # --- plain JSON -------------------------------------------------------------------------------------------------

    async def _json_body(self) -> bytes:
        """The whole body; what an operation without one is sent all the same is left unread."""
        exchange, limit = self._exchange, self._settings.max_json_bytes
        if self._operation.body is Payload.EMPTY:
            return b""
        self._check_type((answers.JSON,))
        if int(exchange.headers.content_length or 0) > limit:
            raise failures.too_large("The body", limit, "max_json_bytes")
        parts: list[bytes] = []
        size, has_more = 0, True
        while has_more:
            message = await self._receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            has_more = message.get("more_body", False)
            if size > limit:
                raise failures.too_large("The body", limit, "max_json_bytes")
        return b"".join(parts)

    async def _receive(self) -> Message:
        if self._exchange.has_all:
            message = await self._exchange.receive()
        else:
            limit = self._settings.idle_timeout
            with Deadline(limit, lambda: failures.too_slow("Nothing of the request's body came", limit)):
                message = await self._exchange.receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        return message

    async def _run(self, request: BaseModel) -> Any:
        if self._pace.is_fast(self._operation):
            return self._ask(request)
        return await self._pool.run(lambda: self._ask(request))

    async def _reply(self, answer: Any) -> None:
        await self._exchange.answer(self._encoded(answer))

    # --- Arrow data in ----------------------------------------------------------------------------------------------

    async def _take_data(self) -> None:
        """Read the body and run the operation at the same time."""
        self._check_type(_ARROW_TYPES)
        request = self._request(b"")
        if self._policy is not None:
            authorize(self._policy, self._exchange.principal, self._operation, request)
        upload = Upload(self._exchange.receive, self._settings)
        self._refuse_announced()
        await upload.receive_first()
        if upload.failure is not None:
            raise upload.failure
        if upload.begins_with(_FILE_MAGIC):
            raise InvalidInputError("The body is an Arrow IPC file: send an Arrow IPC stream.")
        receiving = asyncio.ensure_future(upload.receive_rest())
        try:
            answer = await self._lane.run(lambda: self._with_data(request, upload))
        except Exception:
            if upload.failure is not None:
                raise upload.failure from None
            raise
        finally:
            upload.abort()
            receiving.cancel()
            self._exchange.received = upload.total
        await self._reply(answer)

    def _refuse_announced(self) -> None:
        limit = self._settings.max_data_bytes
        if limit is not None and int(self._exchange.headers.content_length or 0) > limit:
            raise failures.too_large("The body", limit, "max_data_bytes")

    def _with_data(self, request: BaseModel, upload: Upload) -> Any:
        with self._reading(upload) as reader:
            return self._namespace.call(self._operation, request, reader)

    def _reading(self, upload: Upload) -> AbstractContextManager[pa.RecordBatchReader]:
        reading = incoming.spooled if self._operation.name == "create_table" else incoming.streamed
        return reading(upload, self._settings)

    # --- Arrow data out ---------------------------------------------------------------------------------------------

    async def _give_data(self) -> None:
        """Run the query and send its batches at the same time."""
        request = self._request(await self._json_body())
        as_stream = answers.ARROW_STREAM in self._exchange.headers.accept
        download = Download(self._settings)
        job = self._lane.threads.start(lambda: self._query(request, download, as_stream=as_stream))
        try:
            with Deadline(self._settings.request_timeout, lambda: self._lane.late(job)):
                first = await download.next()
            await self._send_all(first, download, answers.ARROW_STREAM if as_stream else answers.ARROW_FILE)
        finally:
            job.withdraw()
            download.abandon()
        await job.future

    def _query(self, request: BaseModel, download: Download, *, as_stream: bool) -> None:
        """Write the result; what goes wrong reaches the event loop through the download."""
        failure = None
        try:
            with translated(self._operation.name), suppress(Abandoned):
                answer = self._namespace.call(self._operation, request)
                reader = answer if isinstance(answer, pa.RecordBatchReader) else from_ipc_file(answer.data)
                download.write_batches(reader, as_stream=as_stream)
        except LanceNamespaceError as error:
            failure = error
        download.finish(failure)

    async def _send_all(self, chunk: Chunk, download: Download, content_type: bytes) -> None:
        """Send chunk after chunk; the connection sees to it that they are taken."""
        await self._exchange.begin(self._operation.status, content_type)
        while chunk:
            await self._exchange.send(chunk)
            chunk = await download.next()
        await self._exchange.send([])

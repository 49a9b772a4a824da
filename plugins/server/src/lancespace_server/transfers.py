"""One call of an operation over ASGI: take the body in, run the operation in a thread, send the answer."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import InvalidInputError, LanceNamespaceError

from lancespace.authoring import Payload, from_ipc_file, translated
from lancespace_server import answers, failures, incoming, wire
from lancespace_server.calls import Call
from lancespace_server.deadlines import Deadline
from lancespace_server.downloads import Abandoned, Download
from lancespace_server.failures import Failure
from lancespace_server.idempotency import Kept
from lancespace_server.interruptions import Recovery
from lancespace_server.uploads import Disconnected, Upload

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from lancespace.authoring import Operation
    from lancespace_server.downloads import Chunk
    from lancespace_server.exchange import Exchange
    from lancespace_server.pool import Place
    from lancespace_server.services import Services
    from lancespace_server.threads import Job
    from lancespace_server.types import Message

_FILE_MAGIC = b"ARROW1"
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 2.0, 2.0, 2.0)
"""Seconds that a repeat waits for the first request with its key to end, before it is told to come back."""

_KEY = re.compile(rb"[\x21-\x7e]{1,255}")
_ARROW_TYPES = (answers.ARROW_STREAM, b"application/octet-stream")


class Transfer(Call):
    """The request of one operation on its way in, and the answer on its way out."""

    def __init__(
        self, services: Services, exchange: Exchange, operation: Operation, segments: list[str], place: Place
    ) -> None:
        super().__init__(services, exchange, operation, segments)
        self._settings = services.settings
        self._place = place
        self._parser = services.parser
        self._ledger = services.ledger
        self._exchange = exchange

    async def answer(self) -> None:
        """Do it all."""
        if self._operation.takes_data:
            await self._take_data()
        elif self._operation.result is Payload.ARROW_FILE:
            await self._give_data()
        else:
            await self._answer_json(await self._json_body())

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
            self._place.hold(size)
            has_more = message.get("more_body", False)
            if size > limit:
                raise failures.too_large("The body", limit, "max_json_bytes")
        return b"".join(parts)

    async def _parsed(self, body: bytes) -> BaseModel:
        """The request; a large body is parsed on a thread, lest everybody else waits."""
        if len(body) <= wire.LARGE_BYTES:
            return self._request(body)
        with Deadline(self._settings.request_timeout, failures.overloaded):
            request: BaseModel = await self._parser.start(lambda: self._slowly(body)).future
        return request

    def _slowly(self, body: bytes) -> BaseModel:
        """Parsing keeps Python's lock: leave the others twice as much time, however many large bodies come."""
        started = time.perf_counter()
        try:
            return self._request(body)
        finally:
            time.sleep(2 * (time.perf_counter() - started))

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

    async def _answer_json(self, body: bytes) -> None:
        request = await self._parsed(body)
        if self._pace.is_fast(self._operation):
            await self._exchange.answer(self._encoded(self._ask(request)))
            return
        digest = lambda: hashlib.blake2b(body).digest()  # noqa: E731
        await self._reply(request, lambda: self._ask(request), digest)

    async def _reply(self, request: BaseModel, function: Callable[[], Any], digest: Callable[[], bytes | None]) -> None:
        """Run the operation in a thread and send its answer; a write with a key happens once only."""

        def kept() -> Kept:
            body, headers = answers.encode(self._operation, function(), self._exchange.query)
            return Kept(self._operation.status, body, tuple(headers))

        key = self._exchange.headers.idempotency_key
        is_once = key and self._operation.writes
        answer = await (self._once(key, request, kept, digest) if is_once else self._place.run(kept))
        await self._exchange.answer(self._exchange.whole(answer.status, answer.body, list(answer.headers)))

    async def _once(
        self, key: bytes, request: BaseModel, write: Callable[[], Kept], digest: Callable[[], bytes | None]
    ) -> Kept:
        if not _KEY.fullmatch(key):
            raise InvalidInputError("An Idempotency-Key has 1 to 255 printable ASCII characters without spaces.")
        exchange = self._exchange
        target = f"{exchange.method} {exchange.path}?{exchange.query.decode('latin-1')}"
        if not self._operation.takes_data:  # It is known by now, also if the first attempt dies.
            target += (digest() or b"").hex()
        recovery = Recovery(self._namespace, self._operation, request, target)
        whole = lambda: None if (body := digest()) is None else body + target.encode()  # noqa: E731
        for pause in _PAUSES:
            kept = await self._place.run(lambda: self._ledger.once(exchange.principal, key, write, whole, recovery))
            if kept is not None:
                return kept  # type: ignore[no-any-return]
            await asyncio.sleep(pause)
        raise failures.still_running()

    # --- Arrow data in ----------------------------------------------------------------------------------------------

    async def _take_data(self) -> None:
        """Read the body and run the operation at the same time."""
        self._check_type(_ARROW_TYPES)
        request = self._request(b"")
        hooks = self._namespace.backend.connection.hooks
        hooks.check_access(operation=self._operation, request=request)  # Before the body is read.
        upload = Upload(
            self._exchange.receive,
            self._settings,
            self._place.hold,
            is_digested=bool(self._exchange.headers.idempotency_key),
        )
        self._refuse_announced()
        await upload.receive_first()
        if upload.failure is not None:
            raise upload.failure
        if upload.begins_with(_FILE_MAGIC):
            raise InvalidInputError("The body is an Arrow IPC file: send an Arrow IPC stream.")
        receiving = asyncio.ensure_future(upload.receive_rest())
        try:
            await self._reply(request, lambda: self._with_data(request, upload), upload.digest)
        finally:
            upload.abort()
            receiving.cancel()
            self._exchange.received = upload.total

    def _refuse_announced(self) -> None:
        limit = self._settings.max_data_bytes
        if limit is not None and int(self._exchange.headers.content_length or 0) > limit:
            raise failures.too_large("The body", limit, "max_data_bytes")

    def _with_data(self, request: BaseModel, upload: Upload) -> Any:
        try:
            with self._reading(upload) as reader:
                answer = self._namespace.call(self._operation, request, reader)
                upload.digest()  # Before what is left of the body is thrown away.
                return answer
        except Exception:
            if upload.failure is not None:
                raise upload.failure from None
            raise

    def _reading(self, upload: Upload) -> AbstractContextManager[pa.RecordBatchReader]:
        reading = incoming.spooled if self._operation.name == "create_table" else incoming.streamed
        return reading(upload, self._settings)

    # --- Arrow data out ---------------------------------------------------------------------------------------------

    async def _give_data(self) -> None:
        """Run the query and send its batches at the same time."""
        request = await self._parsed(await self._json_body())
        as_stream = answers.ARROW_STREAM in self._exchange.headers.accept
        download = Download(self._settings)
        job = self._place.start(lambda: self._query(request, download, as_stream=as_stream))
        try:
            await self._send_all(download, job, answers.ARROW_STREAM if as_stream else answers.ARROW_FILE)
        finally:
            job.withdraw()
            download.abandon()
        await job.future

    def _query(self, request: BaseModel, download: Download, *, as_stream: bool) -> None:
        """Write the result; what goes wrong reaches the event loop through the download."""
        failure: Exception | None = None
        try:
            self._place.hold(self._settings.buffer_bytes)
            with translated(self._operation.name), suppress(Abandoned):
                answer = self._namespace.call(self._operation, request)
                reader = answer if isinstance(answer, pa.RecordBatchReader) else from_ipc_file(answer.data)
                download.write_batches(reader, as_stream=as_stream)
        except (LanceNamespaceError, Failure) as error:
            failure = error
        download.finish(failure)

    async def _send_all(self, download: Download, job: Job, content_type: bytes) -> None:
        """Send chunk after chunk; the connection sees to it that they are taken."""

        async def following() -> Chunk:
            with Deadline(self._settings.request_timeout, lambda: self._place.late(job)):
                return await download.next()

        chunk = await following()
        await self._exchange.begin(self._operation.status, content_type)
        while chunk:
            await self._exchange.send(chunk)
            chunk = await following()
        await self._exchange.send([])

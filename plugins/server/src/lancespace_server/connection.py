"""What an application may do with the connection that a request came on, beyond ASGI."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from lancespace_server import failures
from lancespace_server.custody import ANSWERED
from lancespace_server.downloads import size_of
from lancespace_server.uploads import Disconnected

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from lancespace.authoring import Bytes
    from lancespace_server.downloads import Chunk
    from lancespace_server.protocol import GuardedProtocol
    from lancespace_server.request import Answer
    from lancespace_server.types import Message

_MOST_WAITING = 1 << 20
"""Bytes of a body that may wait for the application; while there are more, the caller is not read from."""

_PART_BYTES = 64
"""What a part takes beside its own bytes: a caller may send millions that have one each."""

_MOST_PARTS = 64
"""More parts than these are put together: to copy a megabyte takes less time than to handle each of them."""

_AT_ONCE_BYTES = 4 << 20
"""Larger chunks are sent piece by piece: under TLS nobody sees how much of what was written is on its way."""


class RequestConnection:
    """The connection, as far as one request is concerned: see :class:`lancespace_server.exchange.Connection`."""

    __slots__ = ("_cycle", "_parts", "_protocol", "_receive", "_send", "_waiting", "subject")

    def __init__(self, protocol: GuardedProtocol, cycle: RequestResponseCycle, subject: str) -> None:
        self._protocol = protocol
        self._cycle = cycle
        self._parts: deque[bytes] = deque()
        self._waiting = 0
        self._receive = cycle.receive
        cycle.receive = self.receive  # type: ignore[method-assign, assignment]
        self._send = cycle.send
        cycle.send = self.send  # type: ignore[method-assign, assignment]
        self.subject = subject

    def add(self, part: bytes) -> None:
        """Keep a part of the body for :meth:`receive`; after the answer, drop it."""
        if self._cycle.response_complete:
            self._protocol.pause_briefly()
            return
        self._parts.append(part)
        self._waiting += len(part) + _PART_BYTES
        if self._waiting > _MOST_WAITING:
            self._protocol.flow.pause_reading()
        self._cycle.message_event.set()

    async def receive(self) -> Message:
        """Receive as ASGI says, a part as it came; uvicorn, which waits for it, would copy what waits three times."""
        cycle, part = self._cycle, b""
        while not self._parts:
            message: Message = await self._receive()  # type: ignore[assignment]
            if message["type"] != "http.request" or not message["more_body"]:
                break
        if cycle.disconnected or cycle.response_complete:
            return {"type": "http.disconnect"}
        if len(self._parts) > _MOST_PARTS:
            part, self._waiting = b"".join(self._parts), 0
            self._parts.clear()
        elif self._parts:
            part = self._parts.popleft()
            self._waiting -= len(part) + _PART_BYTES
        return {"type": "http.request", "body": part, "more_body": bool(self._parts) or cycle.more_body}

    async def send(self, message: Message) -> None:
        """Send as ASGI says; from now on nobody else can answer."""
        self._protocol.note(ANSWERED)
        await self._send(message)  # type: ignore[arg-type]

    @property
    def has_all(self) -> bool:
        """The parser has seen the end of the body."""
        return not self._cycle.more_body

    def meet(self) -> None:
        """Somebody who is known calls on this connection."""
        self._protocol.meet()

    def abort(self) -> None:
        """Hang up."""
        self._protocol.transport.abort()

    async def send_chunk(self, chunk: Chunk) -> None:
        """Send a part of a chunked answer as it is; uvicorn would copy it, to put its length before it."""
        size = size_of(chunk)
        head, end = b"%x\r\n" % size, b"\r\n"
        if size <= _AT_ONCE_BYTES:
            await self._write(head, *chunk, end)
            return
        await self._write(head)
        for part in chunk:
            view = memoryview(part)
            for start in range(0, len(view), _AT_ONCE_BYTES):
                await self._write(view[start : start + _AT_ONCE_BYTES])
        await self._write(end)

    async def _write(self, *parts: Bytes) -> None:
        """Write as soon as there is room.

        Raises:
            Failure: If the caller took too long to make room, and the connection was cut.
            Disconnected: If the caller is gone.
        """
        flow, transport = self._protocol.flow, self._protocol.transport
        if flow.write_paused:
            await flow.drain()
        if self._protocol.has_stuck:
            raise failures.too_slow("Nothing of the answer was taken", self._protocol.settings.idle_timeout)
        if transport.is_closing():
            raise Disconnected
        transport.writelines(parts)

    async def send_whole(self, answer: Answer) -> None:
        """Do what uvicorn does with an answer in two parts: its checks of each header take longer than all the rest."""
        protocol, cycle = self._protocol, self._cycle
        if protocol.flow.write_paused:
            await protocol.flow.drain()
        if cycle.disconnected:
            return
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        protocol.write(answer, keep_alive=cycle.keep_alive)
        cycle.message_event.set()

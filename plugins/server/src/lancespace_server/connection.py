"""What an application may do with the connection that a request came on, beyond ASGI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lancespace_server.downloads import size_of

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from lancespace_server.downloads import Chunk
    from lancespace_server.protocol import GuardedProtocol
    from lancespace_server.request import Answer


class RequestConnection:
    """The connection, as far as one request is concerned: see :class:`lancespace_server.exchange.Connection`."""

    __slots__ = ("_cycle", "_protocol", "subject")

    def __init__(self, protocol: GuardedProtocol, cycle: RequestResponseCycle, subject: str) -> None:
        self._protocol = protocol
        self._cycle = cycle
        self.subject = subject

    @property
    def has_all(self) -> bool:
        """The parser has seen the end of the body."""
        return not self._cycle.more_body

    def abort(self) -> None:
        """Hang up."""
        self._protocol.transport.abort()

    async def send_chunk(self, chunk: Chunk) -> None:
        """Send a part of a chunked answer as it is; uvicorn would copy it, to put its length before it."""
        flow, transport = self._protocol.flow, self._protocol.transport
        if flow.write_paused:
            await flow.drain()
        if not transport.is_closing():
            transport.writelines((b"%x\r\n" % size_of(chunk), *chunk, b"\r\n"))

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

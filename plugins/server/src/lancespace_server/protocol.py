"""uvicorn's HTTP protocol with what it lacks: limits on the head of a request, and the client's certificate."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

from lance_namespace import ErrorCode
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from lancespace_server import failures
from lancespace_server.auth.certificates import subject_of
from lancespace_server.exchange import CONNECTION
from lancespace_server.failures import Failure

if TYPE_CHECKING:
    from uvicorn.config import Config

    from lancespace_server.settings import ServerSettings
    from lancespace_server.types import RawHeaders

MAX_HEAD_BYTES = 64 * 1024


class RequestConnection:
    """The connection, as far as one request is concerned: see :class:`lancespace_server.exchange.Connection`."""

    __slots__ = ("_cycle", "_protocol", "subject")

    def __init__(self, protocol: HttpToolsProtocol, cycle: RequestResponseCycle, subject: str) -> None:
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

    async def send_chunk(self, chunk: bytes) -> None:
        """Send a part of a chunked answer as it is; uvicorn would copy it, to put its length before it."""
        flow, transport = self._protocol.flow, self._protocol.transport
        if flow.write_paused:
            await flow.drain()
        if not transport.is_closing():
            transport.writelines((b"%x\r\n" % len(chunk), chunk, b"\r\n"))

    async def send_whole(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """Do what uvicorn does with an answer in two parts: its checks of each header take longer than all the rest."""
        protocol, cycle = self._protocol, self._cycle
        if protocol.flow.write_paused:
            await protocol.flow.drain()
        if cycle.disconnected:
            return
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        lines = [name + b": " + value + b"\r\n" for name, value in (*protocol.server_state.default_headers, *headers)]
        if not cycle.keep_alive:
            lines.append(b"connection: close\r\n")
        protocol.transport.write(b"".join((STATUS_LINE[status], *lines, b"\r\n", body)))
        cycle.message_event.set()
        if not cycle.keep_alive:
            protocol.transport.close()
        cycle.on_response()


class GuardedProtocol(HttpToolsProtocol):
    """A connection. A caller that sends its head slowly, or endlessly, does not keep it for long."""

    def __init__(self, config: Config, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        factory: Any = config.app
        self.settings: ServerSettings = factory.settings
        self._timer: asyncio.TimerHandle | None = None
        self._is_in_head = True
        self._has_progressed = False
        self._head_bytes = 0
        self._subject = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection if there is room."""
        super().connection_made(transport)
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        if tls is not None and self.settings.tls_client_ca is not None:
            self._subject = subject_of(tls.getpeercert())
        if len(self.connections) > self.settings.max_connections:
            self._refuse(failures.overloaded())
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes before the head is complete; after an early answer, take the rest for a while only."""
        self._has_progressed = False
        super().data_received(data)
        if not self._is_in_head or self._has_progressed:
            self._head_bytes = 0
        else:
            self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            message = f"The head of the request is larger than {MAX_HEAD_BYTES} bytes."
            self._refuse(Failure(431, ErrorCode.INVALID_INPUT, message))
        elif self._timer is None and (self._head_bytes or (not self._is_in_head and self.cycle.response_complete)):
            self._expect_head()

    def on_headers_complete(self) -> None:
        """The head is there in time: give the application what ASGI has no word for."""
        self._stop_timer()
        self._is_in_head, self._has_progressed = False, True
        super().on_headers_complete()
        known: Any = RequestConnection(self, self.cycle, self._subject)
        self.scope["extensions"] = {CONNECTION: known}

    def on_body(self, body: bytes) -> None:
        """Keep a part that is alone as it is: added to an empty bytearray and taken out again, it is copied twice."""
        cycle: Any = self.cycle
        if not cycle.body:
            cycle.body = b""
        elif isinstance(cycle.body, bytes):
            cycle.body = bytearray(cycle.body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The next request may begin."""
        self._is_in_head, self._has_progressed = True, True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with the spec's JSON error."""
        self._refuse(Failure(400, ErrorCode.INVALID_INPUT, msg))

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(self.settings.header_timeout, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._head_bytes:
            limit = self.settings.header_timeout
            self._refuse(failures.too_slow("The head of the request did not come", limit))
        else:
            self.transport.close()

    def _refuse(self, failure: Failure) -> None:
        """Answer without the application, and hang up."""
        body = failure.body("none")
        lines = [STATUS_LINE[failure.status], b"content-type: application/json\r\nconnection: close\r\n"]
        lines += [name + b": " + value + b"\r\n" for name, value in failure.headers if name != b"connection"]
        lines += [b"content-length: %d\r\n\r\n" % len(body), body]
        self.transport.write(b"".join(lines))
        self.transport.close()

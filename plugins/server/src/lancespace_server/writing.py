"""The half of a connection that sends: whole answers, and no endless patience with callers that do not take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lancespace_server.custody import ANSWERED, ASKED, IDLE
from lancespace_server.request import Answer, Request

if TYPE_CHECKING:
    import asyncio

    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from lancespace_server.custody import Register
    from lancespace_server.failures import Failure
    from lancespace_server.reports import Reports
    from lancespace_server.settings import ServerSettings


class WatchedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, which hangs up if nothing of what waits to be sent has moved for ``idle_timeout``."""

    def __init__(self, config: Config, *args: Any, register: Register | None = None, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        self._register = register
        self._number: int | None = None
        factory: Any = config.app
        self.settings: ServerSettings = factory.settings
        self.has_stuck = False
        """The caller was cut off."""
        self._reports: Reports | None = getattr(self.app, "reports", None)
        self._unsent = 0
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Have the supervisor hold the connection too."""
        super().connection_made(transport)
        if self._register is not None:
            self._number = self._register.enter(transport.get_extra_info("socket").fileno())

    def note(self, state: int) -> None:
        """Tell the supervisor how far the request is: it answers those of a worker that dies."""
        if self._register is not None and self._number is not None:
            self._register.note(self._number, state)

    def on_message_begin(self) -> None:
        """A request begins; while an answer is on its way, it cannot be answered in another place."""
        super().on_message_begin()
        last: RequestResponseCycle | None = self.cycle
        if (last is None or last.response_complete) and not self.transport.get_write_buffer_size():
            self.note(ASKED)

    def write(self, answer: Answer, *, keep_alive: bool) -> None:
        """Send a whole answer, which ends the request; its headers are taken as they are."""
        headers = (*self.server_state.default_headers, *answer.headers)
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        if not keep_alive:
            lines.append(b"connection: close\r\n")
        self.note(ANSWERED)
        self.transport.write(b"".join((STATUS_LINE[answer.status], *lines, b"\r\n", answer.body)))
        if not keep_alive:
            self.transport.close()
        self.on_response_complete()

    def write_failure(self, failure: Failure) -> None:
        """Answer a request that the application is not to see, and hang up."""
        request = self.request("none", "", b"")
        status, headers, body = request.fail(failure)
        self.write(Answer(status, [each for each in headers if each[0] != b"connection"], body), keep_alive=False)
        if self._reports is not None:
            self._reports.add(request, 0.0)

    def request(self, method: str, path: str, query: bytes) -> Request:
        """The request whose headers have come."""
        remote = self.client[0] if self.client else None
        return Request(method, path, query, self.headers or [], remote, is_secure=self.scheme == "https")

    def pause_writing(self) -> None:
        """Too much waits to be sent: see that some of it goes."""
        super().pause_writing()
        self._start_watch()

    def resume_writing(self) -> None:
        """There is room again."""
        self._stop_watch()
        super().resume_writing()
        self._see_it_close()

    def on_response_complete(self) -> None:
        """See to the answer if it was the last one."""
        if not self.transport.get_write_buffer_size():
            self.note(IDLE)
        super().on_response_complete()
        self._see_it_close()

    def timeout_keep_alive_handler(self) -> None:
        """Close; some of the last answer may wait still."""
        super().timeout_keep_alive_handler()
        self._see_it_close()

    def shutdown(self) -> None:
        """Close as soon as nothing is under way: the server stops."""
        super().shutdown()
        self._see_it_close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to be watched."""
        super().connection_lost(exc)
        self._stop_watch()
        if self._register is not None and self._number is not None:
            self._register.leave(self._number)
            self._number = None

    def _see_it_close(self) -> None:
        """A connection that is to be closed first sends what waits."""
        if self.transport.is_closing() and not self.has_stuck and self.transport.get_write_buffer_size():
            self._start_watch()

    def _start_watch(self) -> None:
        self._stop_watch()
        self._unsent = self.transport.get_write_buffer_size()
        self._watch = self.loop.call_later(self.settings.idle_timeout, self._look)

    def _stop_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _look(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:
            self._start_watch()
        else:
            self.has_stuck = True
            self.transport.abort()

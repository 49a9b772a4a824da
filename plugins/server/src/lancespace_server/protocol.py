"""uvicorn's HTTP protocol with what it lacks: limits on the head of a request, and answers at once."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from typing import TYPE_CHECKING, Any

from lance_namespace import ErrorCode

from lancespace_server import failures
from lancespace_server.auth.certificates import subject_of
from lancespace_server.connection import RequestConnection
from lancespace_server.exchange import CONNECTION
from lancespace_server.failures import Failure
from lancespace_server.writing import WatchedProtocol

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from lancespace_server.request import AtOnce

MAX_HEAD_BYTES = 64 * 1024
_PAUSE = 0.001
"""Seconds between two reads of a body that was refused."""


class GuardedProtocol(WatchedProtocol):
    """A connection. A caller that sends its head slowly, or endlessly, does not keep it for long."""

    def __init__(self, config: Config, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._is_in_head = True
        self._has_progressed = False
        self._head_bytes = 0
        self._hosts = 0
        self._complaint = ""
        self._subject = ""
        self._strangers: Counter[str] | None = getattr(self.app, "strangers", None)
        self._is_stranger = False
        self._at_once: AtOnce | None = getattr(self.app, "at_once", None)
        self._known: RequestConnection
        self._held: list[bytes] | None = None
        """The body so far of a request that may be answered at once; the application has not seen it yet."""
        self._has_answered = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection if there is room."""
        super().connection_made(transport)
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        if tls is not None and self.settings.tls_client_ca is not None:
            self._subject = subject_of(tls.getpeercert())
        if len(self.connections) > self.settings.max_connections or self._is_one_too_many():
            self._refuse(failures.overloaded())
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        self.meet()
        super().connection_lost(exc)

    def meet(self) -> None:
        """Somebody who is known calls: this is no stranger's connection any more."""
        if self._is_stranger and self._strangers is not None and self.client:
            self._is_stranger = False
            self._strangers[self.client[0]] -= 1
            if not self._strangers[self.client[0]]:
                del self._strangers[self.client[0]]

    def _is_one_too_many(self) -> bool:
        """Count the connection as a stranger's, and say whether its address has too many of these."""
        if self._strangers is None or not self.client:
            return False
        self._is_stranger = True
        self._strangers[self.client[0]] += 1
        return self._strangers[self.client[0]] > self.settings.max_strangers_per_address

    def data_received(self, data: bytes) -> None:
        """Count what comes without being part of a body; after an early answer, take the rest for a while only."""
        self._has_progressed = self._has_answered = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._held is not None:
            self._hand_over()
        if self._has_progressed:
            self._head_bytes = 0
        else:
            self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            message = f"The head of the request, or what follows its body, is larger than {MAX_HEAD_BYTES} bytes."
            self._refuse(Failure(431, ErrorCode.INVALID_INPUT, message))
        elif self._timer is None and (self._head_bytes if self._is_in_head else self.cycle.response_complete):
            self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header. A trailer, which comes after the body, is none: nobody may decide anything by it."""
        if not self._is_in_head:
            return
        name = name.lower()
        if name == b"host":
            self._hosts += 1
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is there in time. The application gets it now, or once it is clear that it has to wait."""
        self._stop_timer()
        if self._hosts != 1 and (self._hosts or self.parser.get_http_version() == "1.1"):
            self._complaint = f"The request has {self._hosts} Host headers: send one."
            raise ValueError(self._complaint)  # Which ends the parsing, and the request with it.
        self._is_in_head, self._has_progressed, self._hosts = False, True, 0
        if self._at_once is not None and self._is_free():
            self._held = []
        else:
            self._begin()

    def on_body(self, body: bytes) -> None:
        """Hold the part back, or give it to the application."""
        self._has_progressed = True
        if self._held is not None:
            self._held.append(body)
        else:
            self._known.add(body)

    def pause_briefly(self) -> None:
        """Read no more for a moment: the event loop would read megabytes that nobody wants while others wait."""
        self.flow.pause_reading()
        self.loop.call_later(_PAUSE, self.flow.resume_reading)

    def on_message_complete(self) -> None:
        """The next request may begin."""
        self._is_in_head, self._has_progressed = True, True
        if self._held is not None:
            if self._answer_at_once(b"".join(self._held)):
                self._held = None
                return
            self._hand_over()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with the spec's JSON error."""
        self._refuse(Failure(400, ErrorCode.INVALID_INPUT, self._complaint or msg))

    def _is_free(self) -> bool:
        """Whether nothing is in the way of an answer at once.

        Of several requests that come together only the first gets one, so that nobody else waits for all of them.
        """
        last: RequestResponseCycle | None = self.cycle
        return (
            (last is None or last.response_complete)
            and not self._has_answered
            and not self.flow.write_paused
            and not self.parser.should_upgrade()
        )

    def _answer_at_once(self, body: bytes) -> bool:
        """Answer without ASGI; False if the request has to go that way."""
        path, _, query = self.url.partition(b"?")
        if self._at_once is None or not path.startswith(b"/") or b"#" in self.url or not self.url.isascii():
            return False
        request = self.request(self.parser.get_method().decode("ascii"), path.decode("latin-1"), query)
        request.subject = self._subject
        answer = self._at_once(request, body)
        if answer is None:
            return False
        self._has_answered = True
        if request.principal:
            self.meet()
        parser = self.parser
        self.write(answer, keep_alive=parser.get_http_version() != "1.0" and parser.should_keep_alive())
        return True

    def _hand_over(self) -> None:
        """Give the application what was held back."""
        held, self._held = self._held, None
        self._begin()
        for part in held or ():
            self.on_body(part)

    def _begin(self) -> None:
        """Have uvicorn start the application, and give it what ASGI has no word for."""
        super().on_headers_complete()
        self._known = RequestConnection(self, self.cycle, self._subject)
        extensions: dict[str, Any] = self.scope.setdefault("extensions", {})
        extensions[CONNECTION] = self._known

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(self.settings.header_timeout, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._head_bytes and self._is_in_head:
            limit = self.settings.header_timeout
            self._refuse(failures.too_slow("The head of the request did not come", limit))
        else:
            self.transport.close()
            self._see_it_close()

    def _refuse(self, failure: Failure) -> None:
        """Answer without the application, and hang up."""
        if self._has_begun():
            self.transport.abort()
        else:
            self.write_failure(failure)

    def _has_begun(self) -> bool:
        """Whether (part of) an answer to what is being read was sent: another one would only garble it."""
        last: RequestResponseCycle | None = self.cycle
        if last is None or self._held is not None or (last.response_complete and self._is_in_head):
            return False
        return last.response_started

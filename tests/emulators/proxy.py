"""A proxy between a client and a store that does what networks and busy services do.

A test says which requests meet which fault; all others go through unchanged.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPConnection
from urllib.parse import urlsplit

from tests.emulators.loopback import Answer, LoopbackHandler, LoopbackServer, Request, running

_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
_DELAY = 0.2


class Fault(Enum):
    """What happens to a request."""

    DROP = "the connection breaks before the request arrives"
    LOSE = "the request is carried out, and the connection breaks before the answer"
    LIE = "the request is carried out, and the answer is that it was not (500)"
    TRUNCATE = "the connection breaks in the middle of the answer"
    DELAY = "the answer takes its time"
    HANG = "there is never an answer"
    FORBID = "the store does not allow it (403)"
    ERROR = "the store fails (500)"
    BUSY = "the store is not available (503)"
    THROTTLE = "the store gets too many requests (429)"
    SLOW_DOWN = "the same, with the status of a failure and a code that says so, as S3 does it (503)"


_CODES = {
    Fault.FORBID: (403, "AccessDenied"),
    Fault.ERROR: (500, "InternalError"),
    Fault.BUSY: (503, "ServiceUnavailable"),
    Fault.THROTTLE: (429, "SlowDown"),
    Fault.SLOW_DOWN: (503, "SlowDown"),
}
"""The answers that are no answer of the store's; the codes are those of S3."""


@dataclass
class Rule:
    """Which requests meet a fault: those that match, after the first few, and a limited number of them."""

    faults: Iterator[Fault]
    """What the first meets, what the next, and so on."""
    matches: Callable[[Request], bool]
    skip: int = 0
    times: int | None = 1
    met: int = 0
    """How many did."""

    def applies(self, request: Request) -> bool:
        """Whether this request meets the fault; it counts."""
        if not self.matches(request) or (self.times is not None and self.met == self.times):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.met += 1
        return True


@dataclass
class Proxy:
    """What the proxy is told, and what it has seen."""

    endpoint: str
    requests: list[Request] = field(default_factory=list)
    """All requests since the rule was last changed."""
    _rule: Rule | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def injecting(
        self,
        fault: Fault | Iterator[Fault],
        matches: Callable[[Request], bool] = lambda _: True,
        *,
        skip: int = 0,
        times: int | None = 1,
    ) -> Iterator[Rule]:
        """As long as this lasts, requests meet a fault: once, or as often as is said (None is always)."""
        faults = itertools.repeat(fault) if isinstance(fault, Fault) else fault
        with self._lock:
            self._rule = rule = Rule(faults, matches, skip, times)
            self.requests.clear()
        try:
            yield rule
        finally:
            self.heal()

    def heal(self) -> None:
        """From now on everything goes through."""
        with self._lock:
            self._rule = None
            self.requests.clear()

    def fault_for(self, request: Request) -> Fault | None:
        """Write the request down, and say what happens to it."""
        with self._lock:
            self.requests.append(request)
            return next(self._rule.faults) if self._rule and self._rule.applies(request) else None

    def hang(self) -> None:
        """Do nothing until the proxy is closed."""
        self._closed.wait()

    def close(self) -> None:
        """Let go of all who hang."""
        self._closed.set()


class _Handler(LoopbackHandler):
    server: _Server

    def handle_request(self, request: Request) -> None:
        """Pass it on, unless it meets a fault."""
        fault = self.server.proxy.fault_for(request)
        if fault is Fault.DROP:
            self._break()
        elif fault is Fault.HANG:
            self.server.proxy.hang()
            self._break()
        elif fault in _CODES:
            self.send(_refusal(fault))
        else:
            self._forward(request, fault)

    def _forward(self, request: Request, fault: Fault | None) -> None:
        answer = self.server.ask(request)
        if fault is Fault.LOSE:
            self._break()
        elif fault is Fault.LIE:
            self.send(_refusal(Fault.ERROR))
        elif fault is Fault.TRUNCATE:
            self.send(answer, upto=len(answer.body) // 2)
            self._break()
        else:
            if fault is Fault.DELAY:
                time.sleep(_DELAY)
            self.send(answer)

    def _break(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


class _Server(LoopbackServer):
    def __init__(self, upstream: str) -> None:
        super().__init__(_Handler)
        self._upstream = urlsplit(upstream).netloc
        self.proxy = Proxy(self.endpoint)

    def ask(self, request: Request) -> Answer:
        """The store's own answer; the client's ``Host`` stays, since it is signed."""
        connection = HTTPConnection(self._upstream)
        try:
            connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                if name.lower() not in _HOP:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            answer = connection.getresponse()
            body = answer.read()
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP}
            if request.method == "HEAD":
                kept["Content-Length"] = answer.getheader("Content-Length") or "0"
            return Answer(answer.status, body, kept)
        finally:
            connection.close()


def _refusal(fault: Fault) -> Answer:
    """What a store says that will not do it."""
    status, code = _CODES[fault]
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>Injected</Message></Error>"
    return Answer(status, body.encode(), {"Content-Type": "application/xml"})


@contextmanager
def proxy_to(upstream: str) -> Iterator[Proxy]:
    """Run a proxy on a free port."""
    server = _Server(upstream)
    with running(server):
        try:
            yield server.proxy
        finally:
            server.proxy.close()

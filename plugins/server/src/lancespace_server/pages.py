"""What operators and machines ask a server beside its operations."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lancespace_server import failures
from lancespace_server.exchange import Exchange
from lancespace_server.guard import Guard
from lancespace_server.metrics import CONTENT_TYPE
from lancespace_server.openapi import document
from lancespace_server.operations import failure_of
from lancespace_server.readiness import READY
from lancespace_server.request import Answer

if TYPE_CHECKING:
    from lancespace_server.services import Services
    from lancespace_server.types import Receive, Scope, Send

_TEXT = b"text/plain; charset=utf-8"


class Pages:
    """Every path that is no operation's; requests are answered, logged and counted as those of operations are."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._guard = Guard(services)
        self._document = b""
        self._by_path = {
            "/healthz": self._health,
            "/readyz": self._readiness,
            "/metrics": self._metrics,
            "/openapi.json": self._openapi,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = time.perf_counter()
        exchange = Exchange(scope, receive, send)
        try:
            answer = await self._answer(exchange)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            answer = exchange.fail(failure_of(exchange, error))
        try:
            await exchange.answer(answer)
        finally:
            self._services.reports.add(exchange, time.perf_counter() - started)

    async def _answer(self, exchange: Exchange) -> Answer:
        page = self._by_path.get(exchange.path)
        if page is None:
            raise failures.no_route(exchange.path)
        if exchange.method not in {"GET", "HEAD"}:
            raise failures.wrong_method(exchange.method, ["GET"])
        status, content_type, body = await page(exchange)
        head = exchange.head(content_type, [(b"content-length", b"%d" % len(body))])
        sent = b"" if exchange.method == "HEAD" else body
        exchange.status, exchange.sent = status, len(sent)
        return Answer(status, head, sent)

    async def _health(self, _: Exchange) -> tuple[int, bytes, bytes]:
        """The process answers."""
        return 200, _TEXT, b"ok\n"

    async def _readiness(self, _: Exchange) -> tuple[int, bytes, bytes]:
        """The namespace answers too, so requests may be sent here."""
        state = await self._services.readiness.state()
        return 200 if state == READY else 503, _TEXT, f"{state}\n".encode()

    async def _metrics(self, exchange: Exchange) -> tuple[int, bytes, bytes]:
        """All numbers, for those who are let in."""
        exchange.principal = (await self._guard.admit(exchange)).name
        self._services.reports.write()
        return 200, CONTENT_TYPE.encode(), self._services.metrics.render()

    async def _openapi(self, _: Exchange) -> tuple[int, bytes, bytes]:
        """What this server understands."""
        if not self._document:
            self._document = document(self._services.settings)
        return 200, b"application/json", self._document

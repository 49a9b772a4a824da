"""Answers that web pages of other origins may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.middleware.cors import CORSMiddleware

from lancespace_server.exchange import CONNECTION

if TYPE_CHECKING:
    from lancespace_server.downloads import Chunk
    from lancespace_server.exchange import Connection
    from lancespace_server.request import Answer
    from lancespace_server.types import App, Receive, Scope, Send

_KEPT_SECONDS = 600
"""For so long a browser need not ask again."""


def with_cors(app: App, origins: tuple[str, ...]) -> App:
    """An application whose answers say that pages of these origins may read them."""
    return CORSMiddleware(
        _ThroughAsgi(app),
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["*"],
        max_age=_KEPT_SECONDS,
    )


class _ThroughAsgi:
    """Sees to it that every answer passes the middleware around it, which adds its headers there."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known: Connection | None = scope.get("extensions", {}).get(CONNECTION)
        if known is not None:
            scope = {**scope, "extensions": {CONNECTION: _AsgiConnection(known, send)}}
        await self._app(scope, receive, send)


class _AsgiConnection:
    """A :class:`lancespace_server.exchange.Connection` that sends the heads of answers as ASGI says."""

    def __init__(self, known: Connection, send: Send) -> None:
        self._known = known
        self._send = send
        self.subject = known.subject
        self.abort = known.abort
        self.meet = known.meet

    @property
    def has_all(self) -> bool:
        return self._known.has_all

    async def send_chunk(self, chunk: Chunk) -> None:
        await self._known.send_chunk(chunk)

    async def send_whole(self, answer: Answer) -> None:
        await self._send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await self._send({"type": "http.response.body", "body": answer.body, "more_body": False})

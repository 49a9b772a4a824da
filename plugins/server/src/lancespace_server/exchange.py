"""One request and its answer over ASGI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lancespace_server.downloads import size_of
from lancespace_server.request import Request

if TYPE_CHECKING:
    from lancespace_server.downloads import Chunk
    from lancespace_server.failures import Failure
    from lancespace_server.request import Answer
    from lancespace_server.types import Receive, Scope, Send

CONNECTION = "lancespace._connection"
"""Where our HTTP protocol leaves a :class:`Connection` in the ASGI scope's extensions."""

_FIRST_FAILURE = 400


class Connection(Protocol):
    """What our HTTP protocol knows and can do, and ASGI has no word for; other HTTP servers have none."""

    @property
    def subject(self) -> str:
        """That of the client's certificate; empty if there is none."""

    @property
    def has_all(self) -> bool:
        """Whether the whole body of the request has come."""

    def meet(self) -> None:
        """Somebody who is known calls on this connection."""

    def abort(self) -> None:
        """Close the connection without sending what still waits."""

    async def send_chunk(self, chunk: Chunk) -> None:
        """Send a part of an answer that has begun and has no length, without a copy.

        Raises:
            Failure: If the caller does not take it.
            Disconnected: If the caller is gone.
        """

    async def send_whole(self, answer: Answer) -> None:
        """Send a whole answer that is no failure, in one piece; its headers are taken as they are."""


class Exchange(Request):
    """A request whose body may still be on its way, and whose answer may be sent in parts."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        super().__init__(
            scope["method"],
            path_of(scope),
            scope["query_string"],
            scope["headers"],
            client[0] if client else None,
            is_secure=scope.get("scheme") == "https",
        )
        self.receive = receive
        self._send = send
        self._connection: Connection | None = scope.get("extensions", {}).get(CONNECTION)
        if self._connection is not None:
            self.subject = self._connection.subject

    @property
    def has_all(self) -> bool:
        """Whether the whole body has come, as far as that is known: nobody needs to be waited for then."""
        return self._connection is not None and self._connection.has_all

    def admitted(self, principal: str) -> None:
        """Note who is calling."""
        self.principal = principal
        if self._connection is not None:
            self._connection.meet()

    async def begin(self, status: int, content_type: bytes) -> None:
        """Send the head of an answer that comes in parts."""
        self.status = status
        headers = self.head(content_type, [])
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, chunk: Chunk) -> None:
        """Send a part of the body; an empty one is the end."""
        if chunk and self._connection is not None:
            await self._connection.send_chunk(chunk)
        else:
            await self._send({"type": "http.response.body", "body": b"".join(chunk), "more_body": bool(chunk)})
        self.sent += size_of(chunk)

    async def answer(self, answer: Answer) -> None:
        """Send a whole answer."""
        if self._connection is None or answer.status >= _FIRST_FAILURE:
            await self._send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
            await self._send({"type": "http.response.body", "body": answer.body, "more_body": False})
        else:
            await self._connection.send_whole(answer)

    async def break_off(self, failure: Failure) -> None:
        """Send the error. An answer that has begun is broken off, so that nobody takes the part for the whole."""
        if not self.status:
            await self.answer(self.fail(failure))
            return
        self.error = failure.code.name
        if self._connection:  # Under another HTTP server, its own way must do.
            self._connection.abort()


def path_of(scope: Scope) -> str:
    """The path as it came, still percent-encoded, without the part that belongs to an application around us."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1").removeprefix(scope.get("root_path", ""))

"""One request and its answer on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lancespace_server.headers import Headers

if TYPE_CHECKING:
    from lancespace.operations import Operation
    from lancespace_server.failures import Failure
    from lancespace_server.types import RawHeaders, Receive, Scope, Send

CONNECTION = "lancespace.connection"
"""Where our HTTP protocol leaves a :class:`Connection` in the ASGI scope's extensions."""

SECURITY_HEADERS: RawHeaders = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_STRICT_TRANSPORT = (b"strict-transport-security", b"max-age=31536000")
_JSON = b"application/json"
_FIRST_FAILURE = 400


class Connection(Protocol):
    """What our HTTP protocol knows and can do, and ASGI has no word for; other HTTP servers have none."""

    @property
    def subject(self) -> str:
        """That of the client's certificate; empty if there is none."""

    @property
    def has_all(self) -> bool:
        """Whether the whole body of the request has come."""

    def abort(self) -> None:
        """Close the connection without sending what still waits."""

    async def send_chunk(self, chunk: bytes) -> None:
        """Send a part of an answer that has begun and has no length, without a copy."""

    async def send_whole(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """Send a whole answer that is no failure, in one piece; its headers are taken as they are."""


class Exchange:
    """What is known of a request while it is answered; the log line is written from it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self._send = send
        self._connection: Connection | None = scope.get("extensions", {}).get(CONNECTION)
        self.headers = Headers(scope["headers"])
        self.request_id = self.headers.request_id()
        self.path = path_of(scope)
        self.method: str = scope["method"]
        self.query: bytes = scope["query_string"]
        self.operation: Operation | None = None
        self.principal = ""
        self.identifier: list[str] | None = None
        self.status = 0
        self.error: str | None = None
        self.received = 0
        self.sent = 0

    @property
    def remote(self) -> str | None:
        """The address of the caller."""
        client = self.scope.get("client")
        return client[0] if client else None

    @property
    def has_all(self) -> bool:
        """Whether the whole body has come, as far as that is known: nobody needs to be waited for then."""
        return self._connection is not None and self._connection.has_all

    async def begin(self, status: int, content_type: bytes, more: RawHeaders) -> None:
        """Send the head of the answer."""
        self.status = status
        headers = self._head(content_type, more)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, chunk: bytes, *, is_last: bool) -> None:
        """Send a part of the body."""
        self.sent += len(chunk)
        if self._connection is None or is_last:
            await self._send({"type": "http.response.body", "body": chunk, "more_body": not is_last})
        else:
            await self._connection.send_chunk(chunk)

    async def answer(self, status: int, body: bytes, more: RawHeaders, content_type: bytes = _JSON) -> None:
        """Send a whole answer."""
        head = [*more, (b"content-length", b"%d" % len(body))]
        if self._connection is None or status >= _FIRST_FAILURE:
            await self.begin(status, content_type if body else b"", head)
            await self.send(body, is_last=True)
            return
        self.status, self.sent = status, len(body)
        await self._connection.send_whole(status, self._head(content_type if body else b"", head), body)

    async def fail(self, failure: Failure) -> None:
        """Send the error. An answer that has begun is broken off, so that nobody takes the part for the whole."""
        self.error = failure.code.name
        if self.status:
            self._hang_up()
        else:
            await self.answer(failure.status, failure.body(self.request_id), list(failure.headers))

    @property
    def subject(self) -> str:
        """The subject of the client's certificate; empty if there is none."""
        return self._connection.subject if self._connection else ""

    def _head(self, content_type: bytes, more: RawHeaders) -> RawHeaders:
        headers = [*SECURITY_HEADERS, (b"x-request-id", self.request_id.encode()), *more]
        if content_type:
            headers.append((b"content-type", content_type))
        if self.scope.get("scheme") == "https":
            headers.append(_STRICT_TRANSPORT)
        return headers

    def _hang_up(self) -> None:
        """Close the connection without sending what still waits; under another HTTP server, its own way must do."""
        if self._connection:
            self._connection.abort()


def path_of(scope: Scope) -> str:
    """The path as it came, still percent-encoded, without the part that belongs to an application around us."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1").removeprefix(scope.get("root_path", ""))

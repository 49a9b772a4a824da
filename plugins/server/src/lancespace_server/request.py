"""A request, from its head to the line that the log has of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from lancespace_server.headers import IDEMPOTENCY_KEY, Headers

if TYPE_CHECKING:
    from lancespace.authoring import Operation
    from lancespace_server.failures import Failure
    from lancespace_server.types import RawHeaders

SECURITY_HEADERS: RawHeaders = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_STRICT_TRANSPORT = (b"strict-transport-security", b"max-age=31536000")
_JSON = b"application/json"


class Answer(NamedTuple):
    """A whole answer, ready to be sent."""

    status: int
    headers: RawHeaders
    body: bytes


class Request:
    """What is known of a request while it is answered; the log line is written from it."""

    def __init__(
        self, method: str, path: str, query: bytes, headers: RawHeaders, remote: str | None, *, is_secure: bool
    ) -> None:
        self.method = method
        self.path = path
        """As it came, still percent-encoded."""
        self.query = query
        self.headers = Headers(headers)
        self.remote = remote
        """The address of the caller."""
        self.subject = ""
        """That of the client's certificate; empty if there is none."""
        self.request_id = self.headers.request_id()
        self._is_secure = is_secure
        self.operation: Operation | None = None
        self.principal = ""
        self.identifier: list[str] | None = None
        self.status = 0
        self.error: str | None = None
        self.received = 0
        self.sent = 0

    def whole(self, status: int, body: bytes, more: RawHeaders) -> Answer:
        """An answer in one piece: it ends the request."""
        self.status, self.sent = status, len(body)
        head = self.head(_JSON if body else b"", [*more, (b"content-length", b"%d" % len(body))])
        return Answer(status, head, body)

    def fail(self, failure: Failure) -> Answer:
        """The answer that says what went wrong."""
        self.error = failure.code.name
        return self.whole(failure.status, failure.body(self.request_id), list(failure.headers))

    def head(self, content_type: bytes, more: RawHeaders) -> RawHeaders:
        """The headers of an answer."""
        headers = [*SECURITY_HEADERS, (b"x-request-id", self.request_id.encode()), *more]
        if key := self.headers.idempotency_key:
            headers.append((IDEMPOTENCY_KEY, key))  # By which a client knows that the server keeps such keys.
        if content_type:
            headers.append((b"content-type", content_type))
        if self._is_secure:
            headers.append(_STRICT_TRANSPORT)
        return headers


AtOnce = Callable[[Request, bytes], Answer | None]
"""Answers a request whose body is there, or does nothing and says None: it has to go the usual way."""

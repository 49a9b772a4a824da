"""HTTP/1.1 servers on loopback, for stand-ins and proxies alike."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Request:
    """What was asked; names of headers are compared without regard to case."""

    method: str
    target: str
    """Path and query as they were sent."""
    headers: Message = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def raw_path(self) -> str:
        """The path, still quoted."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the query, also those without a value."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    def header(self, name: str) -> str | None:
        """The value of a header."""
        return self.headers.get(name)

    def bucket_and_key(self) -> tuple[str, str]:
        """The two parts of a path ``/bucket/key``; the key may be empty."""
        bucket, _, key = self.raw_path.lstrip("/").partition("/")
        return unquote(bucket), unquote(key)


@dataclass(frozen=True)
class Answer:
    """What is answered."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class LoopbackHandler(BaseHTTPRequestHandler):
    """Reads requests and sends answers; a subclass implements :meth:`handle_request`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def handle_request(self, request: Request) -> None:
        """Answer one request."""
        raise NotImplementedError

    def send(self, answer: Answer, *, upto: int | None = None) -> None:
        """Send an answer, or only the first bytes of its body."""
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        has_body = answer.status not in {204, 304}
        if has_body and "Content-Length" not in answer.headers:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if has_body and self.command != "HEAD":
            self.wfile.write(answer.body[:upto])
        self.wfile.flush()

    def do_GET(self) -> None:
        """Any method, in spite of the name."""
        self.handle_request(Request(self.command, self.path, self.headers, self._body()))

    do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = do_GET  # noqa: N815 - http.server finds them by these names

    def handle_expect_100(self) -> bool:
        """The client waits for this before it sends its body, so it must not wait in our buffer."""
        goes_on = super().handle_expect_100()
        self.wfile.flush()
        return goes_on

    def handle_one_request(self) -> None:
        """A client may go away at any moment: that ends the connection, and is no error of the server."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)


class LoopbackServer(ThreadingHTTPServer):
    """A server on a free port."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler: type[LoopbackHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.endpoint = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running(server: LoopbackServer) -> Iterator[None]:
    """Serve as long as this lasts."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    with server:
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()

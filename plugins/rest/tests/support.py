"""A real HTTP server that writes down what it is asked, and answers what a test tells it to."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from typing_extensions import Self

import lancespace


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    peer: int
    """The client's port, which tells connections apart."""
    is_whole: bool = True
    """Whether the body came to its end."""

    @property
    def segments(self) -> list[str]:
        return [unquote(part) for part in urlsplit(self.target).path.split("/")[1:]]

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True, strict_parsing=True)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What to answer; ``act`` takes over the connection instead."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    chunks: Iterable[bytes] | None = None
    act: Callable[[BaseHTTPRequestHandler], None] | None = None


Script = Reply | list[Reply] | Callable[[Seen], Reply]
"""An answer, several one after the other, or a function."""


def reply(value: Any = None, status: int = 200, **headers: str) -> Reply:
    """A JSON answer."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(
        status, json.dumps({} if value is None else value).encode(), {"content-type": "application/json"} | named
    )


def error(code: int, message: str, status: int, **headers: str) -> Reply:
    """An error of the spec."""
    return reply({"code": code, "error": message}, status, **headers)


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def stall(handler: BaseHTTPRequestHandler) -> None:
    """Say nothing until the client goes away."""
    handler.connection.settimeout(30)
    handler.rfile.read(1)
    handler.close_connection = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        body, is_whole = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, headers, body, self.client_address[1], is_whole)
        self.server.seen.append(seen)
        if is_whole:
            self._send(self.server.answer(seen))
        else:
            self.close_connection = True

    do_POST = do_GET  # noqa: N815 - the name that the library calls

    def _send(self, answer: Reply) -> None:
        if answer.act is not None:
            answer.act(self)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.chunks is not None:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for chunk in answer.chunks:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _body(self) -> tuple[bytes, bool]:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            return body, len(body) == length
        pieces = []
        while (line := self.rfile.readline().strip()) and (size := int(line, 16)):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces), bool(line)

    def log_message(self, *_: Any) -> None:
        """Tests look at ``seen``."""


class Server(ThreadingHTTPServer):
    """Serves in a thread while it is entered."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, script: Script | None = None, tls: ssl.SSLContext | None = None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: Script = Reply() if script is None else script
        self.seen: list[Seen] = []
        self.scheme = "http"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
            self.scheme = "https"

    @property
    def port(self) -> int:
        return self.server_address[1]

    @property
    def uri(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def answer(self, seen: Seen) -> Reply:
        if callable(self.script):
            return self.script(seen)
        if isinstance(self.script, list):
            return self.script[min(len(self.seen), len(self.script)) - 1]
        return self.script

    def connect(self, **properties: str) -> lancespace.Namespace:
        """A client of this server; ``__`` in a keyword is a dot."""
        named = {name.replace("__", "."): value for name, value in properties.items()}
        return lancespace.connect("rest", {"uri": self.uri, **named})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the tests."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

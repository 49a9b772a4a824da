"""For the tests of every store: a clean environment, and a server that writes down what it is asked."""
# ruff: noqa: INP001 - it stands beside packages, in none.

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

VENDORS = ("AWS_", "GOOGLE_", "AZURE_", "AZURITE_", "OSS_", "ALIBABA_CLOUD_", "STORAGE_")
UNMARKED = ("TOKEN", "SESSION_TOKEN", "ENDPOINT", "ENDPOINT_URL", "REGION")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the credentials, settings and proxies of whoever runs it, and none asks AWS's instance for some."""
    for variable in os.environ:
        name = variable.upper()
        if name.startswith(VENDORS) or name in UNMARKED or name.endswith("_PROXY"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


@dataclass
class Request:
    """What was asked; the names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]


@dataclass
class Recorder:
    """A server that writes down each request and gives the answers it was told to give, and then always the same."""

    endpoint: str
    requests: list[Request] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)
    otherwise: tuple[int, str] = (200, "")

    def answer(self, request: Request) -> tuple[int, bytes]:
        """Write the request down and answer it."""
        self.requests.append(request)
        status, body = self.answers.pop(0) if self.answers else self.otherwise
        return status, body.encode()


class RecordingServer(ThreadingHTTPServer):
    """A recorder on a port of its own."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.recorder = Recorder(f"http://127.0.0.1:{self.server_port}")


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for the recorder."""

    protocol_version = "HTTP/1.1"
    server: RecordingServer

    def do_GET(self) -> None:
        """Any method, in spite of the name."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, body = self.server.recorder.answer(Request(self.command, self.path, headers))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_PUT = do_POST = do_GET  # noqa: N815 - http.server finds its methods by these names.

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """A server that writes down what it is asked."""
    with RecordingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.recorder
        server.shutdown()
        thread.join()

"""Two S3s: moto, which stores, and one that only writes down what it is asked."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from lancespace_dir_aws.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET = "lake"
DENIED = (403, "AccessDenied")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch):
    """No test sees the credentials and settings of whoever runs it, and none asks the instance for some."""
    ours = {variable for option in OPTIONS.options.values() for variable in option.environment}
    for variable in ours | {name for name in os.environ if name.upper().startswith("AWS_") or "PROXY" in name.upper()}:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]

    @property
    def signer(self) -> str | None:
        """The key, region and service the request was signed with; the date between them is left out."""
        signed = self.headers.get("authorization")
        if signed is None:
            return None
        key, _, region, service, _ = signed.partition("Credential=")[2].partition(",")[0].split("/")
        return f"{key} {region} {service}"


@dataclass
class Recorder:
    """An S3 that writes down each request and gives the answers it was told, or else denies access."""

    endpoint: str
    requests: list[Request] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)

    def answer(self, request: Request) -> tuple[int, bytes]:
        self.requests.append(request)
        status, code = self.answers.pop(0) if self.answers else DENIED
        return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode() if code else b""


def handler_of(answering: dict[str, Recorder]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body = answering["recorder"].answer(Request(self.command, self.path, headers))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    return Handler


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    answering: dict[str, Recorder] = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(answering)) as server:
        answering["recorder"] = Recorder(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield answering["recorder"]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def moto_endpoint() -> Iterator[str]:
    """Moto looks whether a key exists and then stores it; S3 does both at once, so here that takes a lock."""
    from moto.s3.responses import S3Response
    from moto.server import ThreadedMotoServer

    lock = threading.Lock()
    put_object = S3Response.put_object

    def locked(self: S3Response) -> Any:
        with lock:
            return put_object(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(S3Response, "put_object", locked)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture
def moto_options(moto_endpoint: str) -> Iterator[dict[str, str]]:
    """Options for a moto with one empty bucket."""
    from s3fs import S3FileSystem

    options = {
        "endpoint": moto_endpoint,
        "access_key_id": "testing",
        "secret_access_key": "hush",
        "region": "us-east-1",
    }
    owner = S3FileSystem(key="testing", secret="hush", endpoint_url=moto_endpoint, use_listings_cache=False)
    owner.mkdir(BUCKET)
    yield options
    owner.rm(BUCKET, recursive=True)

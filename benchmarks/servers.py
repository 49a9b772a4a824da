"""The servers that are measured, each in a process of its own; run as a script, it is pylance's."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

from lance.namespace import RestAdapter

from benchmarks.peak import most_megabytes

START_SECONDS = 120.0


class Server:
    """A server in a process of its own."""

    def __init__(self, command: list[str]) -> None:
        self.port = _free_port()
        self._process = subprocess.Popen(
            [sys.executable, "-m", *command, str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait(self) -> None:
        """Return once it answers: a supervisor listens before its workers can."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            probe = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)
            with closing(probe), suppress(OSError, http.client.HTTPException):
                probe.request("GET", "/")
                probe.getresponse().read()
                return
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start: {self._process.args!r}")

    def peak_megabytes(self) -> float:
        """The most memory that it has had."""
        return most_megabytes(self.process_id)

    @property
    def process_id(self) -> int:
        """The process that serves: the only worker, if there is a supervisor."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        workers = [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
        return workers[0] if workers else pid

    def stop(self) -> None:
        """Stop it, and wait until it is gone."""
        self._process.terminate()
        self._process.wait()


@contextmanager
def _running(*command: str) -> Iterator[Server]:
    """A module with its arguments, the last of which is the port."""
    server = Server(list(command))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


def ours(root: str, workers: int, *options: str) -> AbstractContextManager[Server]:
    """The server that this project is about."""
    return _running("lancespace_server", "dir", f"root={root}", "--workers", str(workers), *options, "--port")


def rust(root: str) -> AbstractContextManager[Server]:
    """Pylance's."""
    return _running(__name__, root)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _serve_rust(root: str, port: int) -> None:
    """Pylance's server, until we are stopped."""
    with RestAdapter("dir", {"root": root}, port=port):
        while True:
            time.sleep(60)


if __name__ == "__main__":
    _serve_rust(sys.argv[1], int(sys.argv[2]))

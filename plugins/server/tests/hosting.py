"""A server in a process of its own, as clients meet it; pylance's client holds the GIL, so it cannot be in ours.

Run as a script, it serves any number of catalogs: everything below ``/<hex of a root>`` is the catalog in that root.
So a suite that wants a fresh catalog for every test starts one process.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from lancespace.testing.waiting import until
from lancespace_server import ServerSettings, create_app
from lancespace_server.serving import _config, open_namespace

STOP_SECONDS = 60.0


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    def lines(self) -> str:
        """What the server has written."""
        return self.log.read_text(encoding="utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(
    command: list[str], port: int, log: Path, *, environment: Mapping[str, str] | None = None, scheme: str = "http"
) -> Iterator[Running]:
    """Start a server, wait until it listens, and stop it at the end."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=out, stderr=out, env={**os.environ, **(environment or {})}
        )
    server = Running(process, f"{scheme}://127.0.0.1:{port}", log)
    try:
        until(lambda: process.poll() is not None or _listens(port), bool)
        assert process.poll() is None, server.lines()
        yield server
    finally:
        process.terminate()
        process.wait(timeout=STOP_SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(tmp_path: Path, *arguments: str, **keywords: Any) -> Iterator[Running]:
    """``python -m lancespace_server`` on a free port."""
    port = free_port()
    command = ["-m", "lancespace_server", *arguments, "--port", str(port)]
    with running(command, port, tmp_path / f"server-{port}.log", **keywords) as server:
        yield server


@contextmanager
def hosted(folder: Path) -> Iterator[Running]:
    """One process for many catalogs; see :func:`catalog_url`."""
    port = free_port()
    with running([__file__, str(port)], port, folder / "host.log") as server:
        yield server


def catalog_url(server: Running, root: Path) -> str:
    """Where the catalog in a root is served by a host."""
    return f"{server.url}/{os.fsencode(root).hex()}"


class Host:
    """The application of the host process: it opens a catalog when it is first asked for."""

    def __init__(self) -> None:
        self._apps: dict[str, Any] = {}
        self._lock = threading.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        name = scope["raw_path"].decode().split("/")[1]
        await self._app(name)({**scope, "root_path": f"/{name}"}, receive, send)

    def _app(self, name: str) -> Any:
        with self._lock:
            if name not in self._apps:
                settings = ServerSettings(concurrency=8, access_log=False)
                root = os.fsdecode(bytes.fromhex(name))
                self._apps[name] = create_app(open_namespace("dir", {"root": root}, settings), settings)
            return self._apps[name]


@dataclass(frozen=True)
class HostFactory:
    """As ``AppFactory`` is to one catalog."""

    settings: ServerSettings

    def __call__(self) -> Host:
        return Host()


def client(server: Running, **keywords: Any) -> httpx.Client:
    return httpx.Client(base_url=server.url, timeout=60, trust_env=False, **keywords)


def main(port: int) -> None:
    from uvicorn import Server

    settings = ServerSettings(port=port)
    config = _config(HostFactory(settings), settings)  # type: ignore[arg-type]
    config.host, config.port = settings.host, settings.port
    Server(config).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))

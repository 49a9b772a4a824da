"""A server in a process of its own, as clients meet it; pylance's client holds the GIL, so it cannot be in ours.

Run as a script, it serves any number of catalogs: everything below ``/<properties in hex>`` is the catalog of those.
So a suite that wants a fresh catalog for every test starts one process.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from lancespace_server import ServerSettings, create_app, pace
from lancespace_server.request import Answer, Request
from lancespace_server.serving import _listen, open_namespace
from lancespace_server.worker import say, work

START_SECONDS = 180.0
"""Several workers import everything at once, on machines that have other things to do."""
STOP_SECONDS = 60.0
_ANNOUNCEMENT = re.compile(r"^lancespace_server: startup complete, serving .* on (https?://\S+)$", re.MULTILINE)
_NUMBERS = itertools.count()
KEPT = 16
"""How many catalogs a host has open; a test that has more of them at a time opens some anew."""


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        """Where it says that it listens; empty before it does."""
        said = _ANNOUNCEMENT.search(self.lines())
        return said[1] if said else ""

    def lines(self) -> str:
        """What the server has written."""
        return self.log.read_text(encoding="utf-8")

    def workers(self) -> list[int]:
        """The process ids of its workers."""
        pid = self.process.pid
        children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())
        return [child for child in children if b"spawn_main" in command_of(child)]


def command_of(process_id: int) -> bytes:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{process_id}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def running(command: list[str], folder: Path, *, environment: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Start a server, wait until it says where it listens, and stop it at the end."""
    log = folder / f"server-{next(_NUMBERS)}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=out, stderr=out, env={**os.environ, **(environment or {})}
        )
    server = Running(process, log)
    try:
        ends = time.monotonic() + START_SECONDS
        while process.poll() is None and not server.url and time.monotonic() < ends:
            time.sleep(0.02)
        assert process.poll() is None, server.lines()
        assert server.url, f"it took more than {START_SECONDS:g} s to start"
        yield server
    finally:
        process.terminate()
        process.wait(timeout=STOP_SECONDS)


def served(folder: Path, *arguments: str, **keywords: Any) -> AbstractContextManager[Running]:
    """``python -m lancespace_server`` on a free port; with one worker, unless the arguments say otherwise."""
    workers = () if "--workers" in arguments else ("--workers", "1")
    return running(["-m", "lancespace_server", *arguments, *workers, "--port", "0"], folder, **keywords)


def hosted(folder: Path) -> AbstractContextManager[Running]:
    """One process for many catalogs; see :func:`catalog_url`."""
    return running([__file__], folder)


def catalog_url(server: Running, root: Path, **properties: str) -> str:
    """Where the catalog in a root is served by a host."""
    return f"{server.url}/{json.dumps({'root': str(root), **properties}).encode().hex()}"


class Host:
    """The application of the host process: it opens a catalog when it is first asked for.

    The catalogs that were not asked for since many others were are ended: each has threads of its own.
    """

    def __init__(self) -> None:
        self._apps: OrderedDict[str, Any] = OrderedDict()
        self._ending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        name = scope["raw_path"].decode().split("/")[1]
        await self._app(name)({**scope, "root_path": f"/{name}"}, receive, send)

    def at_once(self, request: Request, body: bytes) -> Answer | None:
        _, name, request.path = request.path.split("/", 2)
        request.path = f"/{request.path}"
        answer: Answer | None = self._app(name).at_once(request, body)
        return answer

    def _app(self, name: str) -> Any:
        if name not in self._apps:
            settings = ServerSettings(concurrency=8, access_log=False)
            properties = json.loads(bytes.fromhex(name))
            self._apps[name] = create_app(open_namespace("dir", properties, settings), settings)
        self._apps.move_to_end(name)
        while len(self._apps) > KEPT:
            _, oldest = self._apps.popitem(last=False)
            task = asyncio.get_running_loop().create_task(_end(oldest))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
        return self._apps[name]


async def _end(app: Any) -> None:
    """Have an application end as the server does when it stops."""
    told = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, str]:
        return {"type": next(told)}

    async def send(_: object) -> None:
        pass

    await app({"type": "lifespan"}, receive, send)


@dataclass(frozen=True)
class HostFactory:
    """As ``AppFactory`` is to one catalog."""

    settings: ServerSettings

    def __call__(self) -> Host:
        return Host()


def client(server: Running, **keywords: Any) -> httpx.Client:
    return httpx.Client(base_url=server.url, timeout=60, trust_env=False, **keywords)


def main() -> None:
    pace.TRUST, pace.FAST_SECONDS = 1, 60.0  # The calls of a test go both ways: the first over ASGI, others at once.
    settings = ServerSettings(port=0)
    with _listen(settings) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        factory: Any = HostFactory(settings)
        work(listener, factory, settings, None, lambda: say(f"startup complete, serving many on {url}"))


if __name__ == "__main__":
    main()

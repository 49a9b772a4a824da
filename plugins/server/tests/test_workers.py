"""Several workers: one catalog, one set of numbers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lancespace_testing.samples import COUNT, sample, stream
from lancespace_testing.waiting import until
from plugins.server.tests.hosting import Running, client, command_of, running, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
NAMESPACES = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("workers")
    with served(folder, "dir", f"root={folder / 'catalog'}", "--workers", "2") as running:
        assert _tables(running) == {"tables": []}  # At the first try: it says where it is when it is there.
        assert running.lines().count("serving") == 1
        yield running


def test_workers_share_the_catalog_and_their_numbers(server: Running):
    for number in range(NAMESPACES):
        with client(server) as http:  # Connections are spread over the workers.
            assert http.post(f"/v1/namespace/n{number}/create", json={}).status_code == 200
    with client(server) as first, client(server) as second:
        assert first.post("/v1/table/t/create", content=stream(sample()), headers=ARROW).status_code == 200
        assert second.post("/v1/table/t/count_rows", json={}).json() == COUNT
        listed = second.get("/v1/namespace/$/list").json()["namespaces"]
        counted = [line for line in first.get("/metrics").text.splitlines() if "request_seconds_count" in line]

    assert len(listed) == NAMESPACES
    creates = next(line for line in counted if "create_namespace" in line)
    assert creates == (
        f'lancespace_request_seconds_count{{operation="create_namespace",status="200"}} {float(NAMESPACES)}'
    )


def test_a_worker_that_dies_is_replaced(server: Running):
    first, second = server.workers()
    os.kill(first, signal.SIGKILL)
    until(server.workers, lambda workers: len({*workers} - {first, second}) == 1)
    os.kill(second, signal.SIGKILL)

    assert until(lambda: _tables(server), bool) is not None


def test_a_worker_that_gives_up_later_is_replaced(tmp_path: Path):
    """It did serve: another one may, too."""
    script = _failing(tmp_path, "threading.Timer(2, os._exit, (7,)).start() if first else None")
    with running([script], tmp_path) as server:
        until(lambda: server.lines().count("another one takes its place"), bool)

        assert until(lambda: _tables(server), bool) == {"tables": []}


def test_a_server_whose_workers_die_again_and_again_stops(tmp_path: Path):
    command = [sys.executable, _failing(tmp_path, "os._exit(7)")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)

    assert ended.returncode == 1
    assert ended.stderr.count("another one takes its place") == 3
    assert "ended with exit code 7; the server stops" in ended.stderr


def _failing(folder: Path, failure: str) -> str:
    """A script that runs a server whose workers do something when they are ready; ``first`` is true in one of them."""
    script = folder / "failing.py"
    script.write_text(FAILING.replace("FAILURE", failure).replace("FOLDER", repr(str(folder))), encoding="utf-8")
    return str(script)


FAILING = """
import os, pathlib, threading
from lancespace_server import ServerSettings, serve, supervisor, worker

supervisor._MOST_DEATHS = 3

class Server(worker._Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        try:
            first = not (pathlib.Path(FOLDER) / "first").mkdir()
        except FileExistsError:
            first = False
        FAILURE

worker._Server = Server

if __name__ == "__main__":
    serve("dir", {"root": FOLDER + "/catalog"}, ServerSettings(port=0, workers=2))
"""


def test_workers_do_not_outlive_what_started_them(tmp_path: Path):
    with served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", "--workers", "2") as server:
        workers = server.workers()
        server.process.kill()
        server.process.wait()

        assert until(lambda: [pid for pid in workers if command_of(pid)], lambda alive: not alive) == []


def _tables(server: Running) -> Any:
    """The answer of whichever worker takes the connection; nothing while there is none."""
    try:
        with client(server) as http:
            return http.get("/v1/table").json()
    except httpx.TransportError:
        return None

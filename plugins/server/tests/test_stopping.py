"""A server that is told to stop finishes what runs, takes nothing new, and ends."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import pytest

from lancespace import connect
from lancespace_testing.waiting import until
from plugins.server.tests.callers import BIG, BIG_ROWS, chunk, connection, head, received, under_way, upload_head
from plugins.server.tests.hosting import client, running, served


@pytest.mark.parametrize("workers", [1, 2])
def test_what_runs_is_finished_before_the_server_stops(tmp_path: Path, workers: int):
    root = str(tmp_path / "catalog")
    with served(tmp_path, "dir", f"root={root}", "--workers", str(workers)) as server:
        assert server.lines().count("serving") == 1
        with connection(server) as running:  # At the first try: it says where it is when it is there.
            running.sendall(upload_head("late", "create") + chunk(BIG[:1_000_000]))
            until(lambda: under_way(server), bool)
            server.process.send_signal(signal.SIGTERM)
            until(lambda: server.lines().count("stopping"), lambda count: count == workers)
            with socket.socket() as late:
                assert until(lambda: late.connect_ex(running.getpeername()), bool)
            for start in range(1_000_000, len(BIG), 1_000_000):
                running.sendall(chunk(BIG[start : start + 1_000_000]))
            running.sendall(b"0\r\n\r\n")
            answer = received(running)
        assert server.process.wait(30) == 0

    assert answer.startswith(b"HTTP/1.1 200 ")
    with connect("dir", {"root": root}) as catalog:
        assert catalog.table("late").count() == BIG_ROWS


SLOW = """
import time
from lancespace import Namespace
from lancespace_server import ServerSettings, serve

class Slow(Namespace):
    def call(self, operation, request, *arguments, **fields):
        if operation.name == "create_namespace" and request.id == ["slow"]:
            time.sleep(SECONDS)
        return super().call(operation, request, *arguments, **fields)

serve(Slow("memory", {}), settings=ServerSettings(port=0, concurrency=1, LIMITS))
"""


def slow_server(folder: Path, seconds: float, limits: str) -> list[str]:
    """A server with one thread, in which one operation takes so long."""
    script = folder / "slow.py"
    script.write_text(SLOW.replace("SECONDS", str(seconds)).replace("LIMITS", limits), encoding="utf-8")
    return [str(script)]


def create(name: str) -> bytes:
    return head(f"/v1/namespace/{name}/create", "content-length: 2") + b"{}"


def test_an_operation_that_does_not_end_is_abandoned(tmp_path: Path):
    command = slow_server(tmp_path, 1000, "shutdown_timeout=1.0")
    with running(command, tmp_path) as server, connection(server) as caller:
        caller.sendall(create("slow"))
        until(lambda: under_way(server), bool)
        server.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        answer = received(caller)
        server.process.wait(30)

    assert time.monotonic() - started < 10
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"check whether it succeeded" in answer
    assert "1 operations still run after the 1 s of shutdown_timeout" in server.lines()
    assert "Traceback" not in server.lines()


def test_an_operation_that_never_got_its_turn_is_not_done_later(tmp_path: Path):
    command = slow_server(tmp_path, 4, "request_timeout=1.0")
    with running(command, tmp_path) as server, client(server) as http, connection(server) as caller:
        caller.sendall(create("slow"))
        until(lambda: under_way(server), bool)
        waited = http.post("/v1/namespace/waiting/create", json={})
        until(lambda: http.post("/v1/namespace/slow/exists", json={}).status_code, lambda status: status == 200)

        assert (waited.status_code, waited.headers["retry-after"]) == (503, "1")
        assert http.post("/v1/namespace/waiting/exists", json={}).status_code == 404

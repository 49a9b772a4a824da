"""A server that is told to stop finishes what runs, takes nothing new, and ends."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from lancespace import connect
from lancespace.testing.waiting import until
from plugins.server.tests.callers import BIG, BIG_ROWS, chunk, connection, received, under_way, upload_head
from plugins.server.tests.hosting import served


@pytest.mark.parametrize(("workers", "code"), [(1, -signal.SIGTERM), (2, 0)])
def test_what_runs_is_finished_before_the_server_stops(tmp_path: Path, workers: int, code: int):
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
        assert server.process.wait(30) == code

    assert answer.startswith(b"HTTP/1.1 200 ")
    with connect("dir", {"root": root}) as catalog:
        assert catalog.table("late").count() == BIG_ROWS

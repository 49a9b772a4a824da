"""What the death of a worker costs: its own requests an answer of 503, and nobody else anything."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lancespace_testing.samples import stream
from lancespace_testing.waiting import until
from plugins.server.tests.callers import chunk, received, upload_head
from plugins.server.tests.hosting import Running, client, running
from tests.security.attacking import ROWS, attacked, rows

BOMB = {"predicate": "length(repeat(s, 200000000)) > 0"}
UNBOUNDED = ("--functions", "repeat", "--max-worker-bytes", str(800 << 20))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two workers, which callers may have evaluate what kills them."""
    with attacked(tmp_path_factory.mktemp("workers"), "--workers", "2", *UNBOUNDED) as (started, _):
        yield started


def begun(server: Running) -> socket.socket:
    """A connection with a request whose body goes on."""
    opened = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=30)
    opened.sendall(upload_head("unfinished", "create") + chunk(stream(rows())[:1000]))
    return opened


def under_way(server: Running) -> int:
    with client(server) as http:
        lines = http.get("/metrics").text.splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith("lancespace_requests_under_way")))


def test_a_worker_that_is_killed_costs_its_own_requests_a_503(server: Running):
    before = server.workers()
    several = [begun(server) for _ in range(8)]
    until(lambda: under_way(server), lambda count: count == len(several))

    os.kill(before[0], signal.SIGKILL)
    until(lambda: [pid for pid in server.workers() if pid not in before], bool)
    os.kill(before[1], signal.SIGKILL)
    answers = [received(each) for each in several]
    for each in several:
        each.close()

    assert len(several) == sum(answer.startswith(b"HTTP/1.1 503 ") for answer in answers), answers
    assert all(b'"code":17' in answer for answer in answers)
    until(lambda: set(server.workers()) & set(before), lambda left: not left)
    with client(server) as http:
        assert http.post("/v1/table/t/count_rows", json={}).json() == ROWS
        assert http.post("/v1/table/unfinished/exists").status_code == 404


def test_idle_connections_of_a_worker_that_is_killed_are_closed(server: Running):
    idle = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=60)
    idle.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
    for pid in server.workers():
        os.kill(pid, signal.SIGKILL)

    assert received(idle) == b""
    idle.close()


def test_a_query_that_takes_too_much_memory_costs_only_itself(server: Running):
    before = server.workers()
    with client(server) as http, client(server) as other, ThreadPoolExecutor(1) as pool:
        bomb = pool.submit(http.post, "/v1/table/t/count_rows", json=BOMB)
        while not bomb.done():
            try:
                assert other.post("/v1/table/t/exists").status_code in {200, 503}
            except httpx.TransportError:
                continue  # It was on its way to the worker that died.
        answer = bomb.result()

        assert (answer.status_code, answer.json()["code"]) == (503, 17)
        until(lambda: [pid for pid in server.workers() if pid not in before], bool)
        assert other.post("/v1/table/t/count_rows", json={}).json() == ROWS
    assert server.process.poll() is None


def test_jobs_of_a_worker_that_is_killed_have_failed(server: Running):
    bomb = {"name": "big", "computed": "repeat(s, 200000000)"}
    before = server.workers()
    with client(server) as http:
        assert http.post("/v1/table/spare/add_columns", json={"new_columns": [bomb]}).status_code == 200
        job = http.post("/v1/table/spare/backfill_column", json={"column": "big"}).json()["job_id"]
        until(lambda: [pid for pid in server.workers() if pid not in before], bool)

    with client(server) as http:
        answer = until(lambda: _described(http, job), lambda told: told.get("status") == "FAILED")
        assert "has ended" in answer["properties"]["message"]


def _described(http: httpx.Client, job: str) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = http.post(f"/v1/transaction/{job}/describe", json={}).json()
    except httpx.TransportError:
        return {}
    return answer


def test_by_default_there_is_a_worker_per_core(tmp_path: Path):
    command = ["-m", "lancespace_server", "dir", f"root={tmp_path / 'catalog'}", "--port", "0"]
    with running(command, tmp_path) as server:
        assert len(server.workers()) == len(os.sched_getaffinity(0))
    memory = ["-m", "lancespace_server", "memory", "--port", "0"]
    with running(memory, tmp_path) as server:
        assert server.workers() == []


ON_ONE_CORE = """
import os, sys
from lancespace_server.__main__ import main

if __name__ == "__main__":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.exit(main(["dir", "root=ROOT", "--port", "0", *OPTIONS], "serve"))
"""


@pytest.mark.parametrize("options", [[], ["--workers", "1"]], ids=["default", "given"])
def test_the_only_worker_is_replaced(tmp_path: Path, options: list[str]):
    """Also on a machine with one core."""
    script = tmp_path / "on_one_core.py"
    script.write_text(ON_ONE_CORE.replace("ROOT", str(tmp_path / "catalog")).replace("OPTIONS", repr(options)))
    with running([str(script)], tmp_path) as server:
        (only,) = server.workers()
        with begun(server) as unfinished:
            until(lambda: under_way(server), bool)
            os.kill(only, signal.SIGKILL)
            assert received(unfinished).startswith(b"HTTP/1.1 503 ")

        with client(server) as http:  # It waits until there is a worker again.
            assert http.post("/v1/table/unfinished/exists").status_code == 404
        assert only not in server.workers()
    assert server.process.returncode == 0

"""Several workers: one catalog, one set of numbers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from lancespace.testing.samples import COUNT, sample, stream
from lancespace.testing.waiting import until
from plugins.server.tests.hosting import Running, client, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
NAMESPACES = 30


def test_workers_share_the_catalog_and_their_numbers(tmp_path: Path):
    with served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", "--workers", "2") as server:
        for number in range(NAMESPACES):
            with client(server) as http:  # Connections are spread over the workers.
                until(lambda: http.get("/readyz").status_code, lambda status: status == 200)
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


def test_a_worker_that_dies_is_replaced(tmp_path: Path):
    with served(tmp_path, "memory", "--workers", "2") as server:
        first, second = _workers(server)
        os.kill(first, signal.SIGKILL)
        until(lambda: _workers(server), lambda workers: len({*workers} - {first, second}) == 1)
        os.kill(second, signal.SIGKILL)

        assert until(lambda: _tables(server), bool) == {"tables": []}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_server_says_where_it_is_when_it_is_there(tmp_path: Path, workers: str):
    with served(tmp_path, "memory", "--workers", workers) as server:
        assert _tables(server) == {"tables": []}  # At the first try.
        assert server.lines().count("serving") == 1
        assert not server.url.endswith(":0")


def _workers(server: Running) -> list[int]:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _tables(server: Running) -> Any:
    """The answer of whichever worker takes the connection; nothing while there is none."""
    try:
        with client(server) as http:
            return http.get("/v1/table").json()
    except httpx.TransportError:
        return None

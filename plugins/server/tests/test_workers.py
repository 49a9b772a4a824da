"""Several workers: one catalog, one set of numbers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from lancespace.testing.samples import COUNT, sample, stream
from lancespace.testing.waiting import until
from plugins.server.tests.hosting import client, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
NAMESPACES = 30
STARTED = "Application startup complete"


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
        until(lambda: server.lines().count(STARTED), lambda count: count == 2)
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        victim = next(int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(victim, signal.SIGKILL)
        until(lambda: server.lines().count(STARTED), lambda count: count == 3)
        with client(server) as http:
            assert http.get("/v1/table").json() == {"tables": []}

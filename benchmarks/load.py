"""The server's memory while 16 connections insert 20 rows at a time into one table, 100,000 times in all.

LANCESPACE_BENCH_INSERTS chooses how many inserts there are. The server has one worker, whose memory is
measured. Memory is flat if the last tenth of the inserts ends with about as much as the first tenth.
"""

from __future__ import annotations

import http.client
import itertools
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from benchmarks import servers
from benchmarks.peak import megabytes
from benchmarks.report import Result
from benchmarks.rows import rows, to_ipc

INSERTS = int(os.environ.get("LANCESPACE_BENCH_INSERTS", "100000"))
CONNECTIONS = 16
ROWS = 20
STEPS = 10
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
DATA = to_ipc(rows(range(ROWS)))


def run() -> Iterator[Result]:
    """A line for each tenth of the inserts, and one for all."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root, servers.ours(root, 1) as server:
        with closing(_connected(server.port)) as connection:
            _post(connection, "create")
        started, slowest, memory = time.perf_counter(), 0.0, []
        for step in range(STEPS):
            begun = time.perf_counter()
            waits = _insert(server.port, INSERTS // STEPS)
            slowest = max(slowest, *waits)
            memory.append(megabytes("VmRSS", server.process_id))
            rate = len(waits) / (time.perf_counter() - begun)
            yield Result(f"after {(step + 1) * len(waits)}", {"rss_mb": memory[-1], "inserts_per_s": rate})
        numbers = {
            "seconds": time.perf_counter() - started,
            "growth_mb": memory[-1] - memory[0],
            "peak_mb": server.peak_megabytes(),
            "slowest_s": slowest,
        }
        yield Result("all inserts", numbers, "memory is flat, and no insert waits for seconds")


def _insert(port: int, count: int) -> list[float]:
    """Insert so often over all connections, and say how long each insert took."""
    turns, lock, waits = itertools.count(), threading.Lock(), list[float]()

    def work(_: int) -> None:
        with closing(_connected(port)) as connection:
            while True:
                with lock:
                    if next(turns) >= count:
                        return
                begun = time.perf_counter()
                _post(connection, "insert")
                waits.append(time.perf_counter() - begun)

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(work, range(CONNECTIONS)))
    return waits


def _connected(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def _post(connection: http.client.HTTPConnection, action: str) -> None:
    connection.request("POST", f"/v1/table/load/{action}", DATA, ARROW)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(body.decode())

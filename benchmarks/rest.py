"""Our REST server beside pylance's RestAdapter, on equal catalogs; and its streams beside the plain SDK.

LANCESPACE_BENCH_TABLES chooses the size of the catalog (default 10000), LANCESPACE_BENCH_STREAM_MB how much is sent
each way (default 500). Our server runs with as many workers as the machine has cores, and writes its access log.

Streams go through one worker, to and from our client, with the plain SDK beside them; and beside an SDK whose process
keeps memory as our server does, which glibc by itself does only by chance. They are sent at a quarter of the size too,
each size with processes of its own, so that it shows whether memory grows with what is sent.
"""

from __future__ import annotations

import http.client
import os
import statistics
import tempfile
from collections.abc import Iterator

from benchmarks import servers, streams
from benchmarks.catalog import _catalog
from benchmarks.rates import CONNECTIONS, per_second
from benchmarks.report import Result
from benchmarks.rows import rows, to_ipc

TABLES = int(os.environ.get("LANCESPACE_BENCH_TABLES", "10000"))
STREAM_MB = int(os.environ.get("LANCESPACE_BENCH_STREAM_MB", "500"))
SECONDS = 4.0
ROUNDS = 3
WORKERS = os.cpu_count() or 1
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
LARGE_CREATE_BYTES = 16_000_000


def run() -> Iterator[Result]:
    """Small requests, then large ones."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        roots = {name: _catalog(f"{folder}/{name}", TABLES) for name in ("ours", "rust")}
        with servers.ours(roots["ours"], WORKERS) as ours, servers.rust(roots["rust"]) as rust:
            yield from _rates(ours.port, rust.port)
            yield _large_create({"ours": ours.port, "rust": rust.port})
    for megabytes in (max(1, STREAM_MB // 4), STREAM_MB):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield from streams.measure(folder, megabytes)


def _rates(ours: int, rust: int) -> Iterator[Result]:
    tables = [f"ns%24t{number:08d}" for number in range(0, TABLES, max(1, TABLES // 97))]
    cases = {
        "table_exists": ("POST", [f"/v1/table/{table}/exists" for table in tables], "{}"),
        "describe_table": ("POST", [f"/v1/table/{table}/describe" for table in tables], "{}"),
        "list_tables(limit=100)": ("GET", ["/v1/namespace/ns/table/list?limit=100"], ""),
    }
    for name, (method, paths, body) in cases.items():
        found: dict[int, list[float]] = {ours: [], rust: []}
        for port in (ours, rust) * ROUNDS:
            found[port].append(per_second(port, method, paths, body, SECONDS))
        ours_per_s, rust_per_s = (statistics.median(found[port]) for port in (ours, rust))
        numbers = {"ours_per_s": ours_per_s, "rust_per_s": rust_per_s, "ratio": ours_per_s / rust_per_s}
        yield Result(f"{name}, {TABLES} tables, {CONNECTIONS} connections", numbers, "10 x")


def _large_create(ports: dict[str, int]) -> Result:
    sample = rows(range(1000))
    data = to_ipc(rows(range(LARGE_CREATE_BYTES * 1000 // sample.nbytes)))
    numbers = {f"{name}_status": float(_create(port, data)) for name, port in ports.items()}
    return Result(f"create_table with {len(data) / 1e6:.0f} MB", numbers, "200")


def _create(port: int, data: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", "/v1/table/ns%24large/create", data, ARROW)
        return connection.getresponse().status
    except OSError:
        return 0  # It hung up while we were sending.
    finally:
        connection.close()

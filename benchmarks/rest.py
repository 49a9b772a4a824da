"""Our REST server beside pylance's RestAdapter, on equal catalogs; and its streams beside the plain SDK.

LANCESPACE_BENCH_TABLES chooses the size of the catalog (default 10000), LANCESPACE_BENCH_STREAM_MB how much is sent
each way (default 500). Our server runs with as many workers as the machine has cores, and writes its access log.

Streams go through one worker, to and from a plain ``http.client``, which does little more than copy: it is the server
that is measured. They are sent at a quarter of the size too, each size with a server of its own, so that it shows
whether memory grows with what is sent. What earlier turns wrote is on the disk before the next one begins.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import lance
import pyarrow as pa
from lance.namespace import RestAdapter

from benchmarks.catalog import _catalog
from benchmarks.load import CONNECTIONS, per_second
from benchmarks.peak import write_rows
from benchmarks.report import Result
from benchmarks.rows import rows, to_ipc
from lancespace import connect

TABLES = int(os.environ.get("LANCESPACE_BENCH_TABLES", "10000"))
STREAM_MB = int(os.environ.get("LANCESPACE_BENCH_STREAM_MB", "500"))
SECONDS = 4.0
ROUNDS = 3
WORKERS = os.cpu_count() or 1
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
ALL_ROWS = b'{"k": 2147483647, "vector": {}}'
LARGE_CREATE_BYTES = 16_000_000
START_SECONDS = 120.0


def run() -> Iterator[Result]:
    """Small requests, then large ones."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        roots = {name: _catalog(f"{folder}/{name}", TABLES) for name in ("ours", "rust")}
        with _ours(roots["ours"], WORKERS) as ours, _rust(roots["rust"]) as rust:
            yield from _rates(ours.port, rust.port)
            yield _large_create({"ours": ours.port, "rust": rust.port})
    for megabytes in (max(1, STREAM_MB // 4), STREAM_MB):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield from _streams(folder, megabytes)


class _Server:
    """A server in a process of its own."""

    def __init__(self, command: list[str]) -> None:
        self.port = _free_port()
        self._process = subprocess.Popen(
            [sys.executable, "-m", *command, str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait(self) -> None:
        """Return once it listens."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start: {self._process.args!r}")

    def peak_megabytes(self) -> float:
        """The most memory that it has had."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1e3

    def stop(self) -> None:
        """Stop it, and wait until it is gone."""
        self._process.terminate()
        self._process.wait()


@contextmanager
def _running(*command: str) -> Iterator[_Server]:
    server = _Server(list(command))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


def _ours(root: str, workers: int) -> AbstractContextManager[_Server]:
    return _running("lancespace_server", "dir", f"root={root}", "--workers", str(workers), "--port")


def _rust(root: str) -> AbstractContextManager[_Server]:
    return _running("benchmarks.rest", root)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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


def _streams(folder: str, megabytes: int) -> Iterator[Result]:
    """The same rows into a table, and out of it, through the server and without, in turns."""
    small, large = write_rows(f"{folder}/small", 10), write_rows(f"{folder}/large", megabytes)
    with connect("dir", {"root": f"{folder}/catalog"}) as namespace:
        for table in ("warm", "rest", "sdk"):
            namespace.create_table(table, pa.ipc.open_stream(pa.OSFile(small)))
        location = namespace.describe_table("sdk").location or ""
        namespace.create_table("once", pa.ipc.open_stream(pa.OSFile(large)))
        once = namespace.describe_table("once").location or ""
    with _ours(f"{folder}/catalog", 1) as server:
        port = server.port
        _post(port, "warm/insert", small)
        _query(port, "warm")
        before = server.peak_megabytes()
        _scan(once)  # So that whoever is first finds it in memory, too.
        seconds = _in_turns(lambda: _query(port, "once"), lambda: _scan(once))
        yield _share(f"query of {megabytes} MB", megabytes, seconds, before, server.peak_megabytes())
        seconds = _in_turns(lambda: _post(port, "rest/insert", large), lambda: _insert_directly(location, large))
        yield _share(f"insert of {megabytes} MB", megabytes, seconds, before, server.peak_megabytes())


def _in_turns(*works: Callable[[], None]) -> list[float]:
    """The median of the seconds of each."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, seconds in zip(works, taken, strict=True):
            os.sync()
            started = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - started)
    return [statistics.median(seconds) for seconds in taken]


def _share(case: str, megabytes: int, seconds: list[float], before: float, peak: float) -> Result:
    over_rest, direct = (megabytes / taken for taken in seconds)
    numbers = {"rest_mb_per_s": over_rest, "sdk_mb_per_s": direct, "share": over_rest / direct}
    return Result(case, {**numbers, "server_mb_before": before, "server_mb_peak": peak}, "0.6, memory flat")


def _insert_directly(location: str, path: str) -> None:
    lance.write_dataset(pa.ipc.open_stream(pa.OSFile(path)), location, mode="append")


def _scan(location: str) -> None:
    for _ in lance.dataset(location).scanner().to_reader():
        pass


def _post(port: int, route: str, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, blocksize=1 << 20)
    with Path(path).open("rb") as body:
        length = str(Path(path).stat().st_size)
        connection.request("POST", f"/v1/table/{route}", body, {**ARROW, "content-length": length})
        _check(connection.getresponse())
    connection.close()


def _query(port: int, table: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"content-type": "application/json", "accept": ARROW["content-type"]}
    connection.request("POST", f"/v1/table/{table}/query", ALL_ROWS, headers)
    answer = connection.getresponse()
    if answer.status != http.HTTPStatus.OK:
        _check(answer)
    for _ in pa.ipc.open_stream(answer):
        pass
    connection.close()


def _check(answer: http.client.HTTPResponse) -> None:
    body = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"the server answered {answer.status}: {body.decode()}")


def _serve_rust(root: str, port: int) -> None:
    """Pylance's server, until we are stopped."""
    with RestAdapter("dir", {"root": root}, port=port):
        while True:
            time.sleep(60)


if __name__ == "__main__":
    _serve_rust(sys.argv[1], int(sys.argv[2]))

"""How long one caller's table_exists takes while another caller attacks the server, beside a quiet server.

Each attack runs in processes of its own. The attacker has a key and is limited to RATE requests per second and a few
requests at a time; run as a script, this module attacks. LANCESPACE_BENCH_OVERLOAD_SECONDS is the time of each case.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks import servers
from benchmarks.report import Result
from benchmarks.rows import DIMENSIONS, rows, to_ipc

SECONDS = float(os.environ.get("LANCESPACE_BENCH_OVERLOAD_SECONDS", "5"))
RATE, AT_ONCE, CONNECTIONS = 200, 8, 8
MOST = 10
JSON = {"content-type": "application/json"}
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
ATTACKER, VICTIM = "a" * 32, "v" * 32
QUERY = {"vector": {"single_vector": [0.5] * DIMENSIONS}, "k": 1000, "columns": {"column_names": ["id"]}}


def run() -> Iterator[Result]:
    """The quiet server, then each attack."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, _server(folder) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        _post(connection, "table/t/create", to_ipc(rows(range(1000))), {**ARROW, "x-api-key": VICTIM})
        connection.close()
        _waits(port)  # Until it is warm.
        quiet = _p99(_waits(port))
        yield Result("quiet", {"p99_ms": quiet * 1e3})
        for name in ATTACKS:
            with _attack(name, port):
                attacked = _p99(_waits(port))
            numbers = {"p99_ms": attacked * 1e3, "times_quiet": attacked / quiet}
            yield Result(name, numbers, f"below {MOST} times the quiet p99")


@contextmanager
def _server(folder: str) -> Iterator[int]:
    keys = Path(folder, "keys")
    hashed = {name: hashlib.sha256(key.encode()).hexdigest() for name, key in (("a", ATTACKER), ("v", VICTIM))}
    keys.write_text("".join(f"{name}:{value}\n" for name, value in hashed.items()), encoding="utf-8")
    limits = ["--max-rate-per-principal", str(RATE), "--max-per-principal", str(AT_ONCE), "--api-keys", str(keys)]
    with servers.ours(f"{folder}/catalog", 1, *limits) as server:
        yield server.port


@contextmanager
def _attack(name: str, port: int) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-m", __name__, name, str(port)], stdout=subprocess.PIPE)
    try:
        if process.stdout is not None:
            process.stdout.readline()  # It has begun.
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _waits(port: int) -> list[float]:
    """How long each table_exists took; a few milliseconds between them keep the caller below its own rate."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    waits, ends = [], time.perf_counter() + SECONDS
    while time.perf_counter() < ends:
        begun = time.perf_counter()
        status = _post(connection, "table/t/exists", b"{}", {**JSON, "x-api-key": VICTIM})
        waits.append(time.perf_counter() - begun)
        if status != http.HTTPStatus.OK:
            raise RuntimeError(f"table_exists was answered with {status}")
        time.sleep(2 / RATE)
    connection.close()
    return waits


def _p99(waits: list[float]) -> float:
    return sorted(waits)[int(len(waits) * 0.99)]


def _post(connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> int:
    connection.request("POST", f"/v1/{path}", body, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _posting(path: str, body: bytes, kind: dict[str, str], key: str = ATTACKER) -> Callable[[int], None]:
    """Send a request again and again."""

    def attack(port: int) -> None:
        headers = {**kind, "x-api-key": key}
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            with suppress(OSError, http.client.HTTPException):
                while True:
                    _post(connection, path, body, headers)
            connection.close()
            time.sleep(0.01)

    return attack


def _idle(port: int) -> None:
    """Open connections and send nothing."""
    kept = []
    while True:
        with suppress(OSError):
            kept.append(socket.create_connection(("127.0.0.1", port), timeout=5))
        del kept[:-100]
        time.sleep(0.01)


ATTACKS: dict[str, Callable[[int], None]] = {
    "14 MB of numbers as JSON": _posting("table/t/exists", json.dumps({"x": [1] * 4_700_000}).encode(), JSON),
    "large JSON within the limits": _posting("table/t/exists", json.dumps({"x": [1] * 190_000}).encode(), JSON),
    "many requests": _posting("table/t/exists", b"{}", JSON),
    "many queries": _posting("table/t/query", json.dumps(QUERY).encode(), JSON),
    "many inserts": _posting("table/t/insert", to_ipc(rows(range(20))), ARROW),
    "many wrong keys": _posting("table/t/exists", b"{}", JSON, key="w" * 32),
    "idle connections": _idle,
}


def _main(name: str, port: int) -> None:
    threads = [threading.Thread(target=ATTACKS[name], args=(port,), daemon=True) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    print("begun", flush=True)
    time.sleep(10 * SECONDS)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))

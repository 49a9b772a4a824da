"""The directory catalog beside pylance's DirectoryNamespace: the same calls on equal catalogs, in one run.

Each catalog starts as the Rust implementation would leave it: one fragment with all rows. LANCESPACE_BENCH_SIZES
chooses the sizes (default 100,1000,10000,100000; add 1000000 for the whole curve).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import lance
from lance.namespace import DirectoryNamespace
from lance_namespace import (
    CreateNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    LanceNamespace,
    ListTablesRequest,
    TableExistsRequest,
)

from benchmarks.report import Result
from lancespace import connect
from lancespace_dir.manifest.schema import DIRECTORY, NAMESPACE, SCHEMA, STORAGE_VERSION, TABLE, Entry, to_table

SIZES = tuple(int(size) for size in os.environ.get("LANCESPACE_BENCH_SIZES", "100,1000,10000,100000").split(","))
THREADS = 32
PROCESSES = 8
SECONDS = 4.0
"""How long each throughput case runs."""
CASCADE = 20_000
"""So many objects are dropped at once, from catalogs with at least five times as many."""

OPEN: dict[str, Callable[[str], LanceNamespace]] = {
    "ours": lambda root: connect("dir", {"root": root}),
    "rust": lambda root: DirectoryNamespace(root=root),
}


def run() -> Iterator[Result]:
    """Latencies at each size, then throughput of many writers."""
    creates = []
    for size in SIZES:
        for result in _at_size(size):
            if result.case.startswith("create_namespace"):
                creates.append(result.numbers["ours_ms"])
            yield result
    growth = {"ours_ms": creates[-1], "growth": creates[-1] / creates[0]}
    yield Result(f"create_namespace, {SIZES[-1]} beside {SIZES[0]}", growth, "within 2 x")
    yield _rates(f"creates per second, {THREADS} threads of one client", _threads, "10 x")
    yield _rates(f"creates per second, {PROCESSES} processes", _processes, "2 x, none starved")


def _at_size(size: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        roots = {name: _catalog(f"{folder}/{name}", size) for name in OPEN}
        cold = {name: _cold(name, roots[name]) for name in OPEN}
        opened = {name: OPEN[name](roots[name]) for name in OPEN}
        tables = [f"t{number:08d}" for number in range(0, size, max(1, size // 97))]
        yield _latency(f"cold connect + table_exists, {size}", cold, "not slower")
        calls: dict[str, tuple[Callable[[Any, int], object], str]] = {
            "table_exists": (lambda ns, i: ns.table_exists(TableExistsRequest(id=["ns", tables[i % 97]])), "100 x"),
            "describe_table": (
                lambda ns, i: ns.describe_table(DescribeTableRequest(id=["ns", tables[i % 97]])),
                "100 x",
            ),
            "list_tables(limit=100)": (lambda ns, _: ns.list_tables(ListTablesRequest(id=["ns"], limit=100)), "100 x"),
            "create_namespace": (lambda ns, i: ns.create_namespace(CreateNamespaceRequest(id=[f"new{i}"])), "30 x"),
        }
        for name, (call, goal) in calls.items():
            yield _latency(f"{name}, {size}", {who: _median(ns, call) for who, ns in opened.items()}, goal)
        yield _memory(size, roots)
        if size >= 5 * CASCADE:
            yield _cascade(size, f"{folder}/cascade")


def _cascade(size: int, root: str) -> Result:
    """A drop of many namespaces in one, of a client that has listed it; beside it, another thread reads."""
    inside = (Entry(f"archive$n{number:08d}", NAMESPACE) for number in range(CASCADE))
    namespace = OPEN["ours"](_catalog(root, size - CASCADE, [Entry("archive", NAMESPACE), *inside]))
    namespace.list_tables(ListTablesRequest(id=["ns"], limit=100))
    waits, ended = [0.0], threading.Event()

    def read() -> None:
        while not ended.wait(0.001):
            started = time.perf_counter()
            namespace.table_exists(TableExistsRequest(id=["ns", "t00000007"]))
            waits.append(time.perf_counter() - started)

    reader = threading.Thread(target=read)
    reader.start()
    started = time.perf_counter()
    namespace.drop_namespace(DropNamespaceRequest(id=["archive"], behavior="Cascade"))
    taken = time.perf_counter() - started
    ended.set()
    reader.join()
    numbers = {"ours_ms": taken * 1e3, "longest_read_ms": max(waits) * 1e3}
    return Result(f"drop_namespace with Cascade, {CASCADE} of {size}", numbers, "grows with what is dropped")


def _catalog(root: str, size: int, beside: Sequence[Entry] = ()) -> str:
    """A catalog with a namespace of so many tables, and with other objects beside it."""
    Path(root).mkdir()
    tables = (Entry(f"ns$t{number:08d}", TABLE, f"{number:08x}_ns$t{number:08d}") for number in range(size))
    rows = to_table([*beside, Entry("ns", NAMESPACE), *tables], SCHEMA)
    lance.write_dataset(rows, f"{root}/{DIRECTORY}", data_storage_version=STORAGE_VERSION, max_rows_per_file=1 << 30)
    return root


def _cold(name: str, root: str) -> float:
    """A new client and its first look-up, in a process that has everything imported."""
    times = []
    for _ in range(7):
        started = time.perf_counter()
        OPEN[name](root).table_exists(TableExistsRequest(id=["ns", "t00000007"]))
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def _median(namespace: Any, call: Callable[[Any, int], object]) -> float:
    for warmup in range(5):
        call(namespace, 1_000_000 + warmup)
    times = []
    for number in range(50):
        started = time.perf_counter()
        call(namespace, number)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def _latency(case: str, milliseconds: dict[str, float], goal: str) -> Result:
    ours, rust = milliseconds["ours"], milliseconds["rust"]
    return Result(case, {"ours_ms": ours, "rust_ms": rust, "ratio": rust / ours}, goal)


def _memory(size: int, roots: dict[str, str]) -> Result:
    used = {f"{name}_mb": float(_child("memory", name, root).communicate()[0]) for name, root in roots.items()}
    per_object = {"ours_bytes_per_object": used["ours_mb"] * 1e6 / size}
    return Result(f"resident memory of one client, {size}", {**used, **per_object}, "bounded")


def _rates(case: str, measure: Callable[[str, str], list[int]], goal: str) -> Result:
    """Rates of all workers together, and what the least of them had of an equal share."""
    rates, least = {}, {}
    for name in OPEN:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:  # Upkeep may still be writing.
            counts = measure(name, root)
        rates[name] = sum(counts) / SECONDS
        least[f"{name}_least_share"] = min(counts) / statistics.mean(counts)
    numbers = {"ours_per_s": rates["ours"], "rust_per_s": rates["rust"], "ratio": rates["ours"] / rates["rust"]}
    return Result(case, {**numbers, **least}, goal)


def _threads(name: str, root: str) -> list[int]:
    namespace = OPEN[name](root)
    namespace.create_namespace(CreateNamespaceRequest(id=["first"]))
    counts = [0] * THREADS
    stop = time.perf_counter() + SECONDS

    def create(worker: int) -> None:
        while time.perf_counter() < stop:
            namespace.create_namespace(CreateNamespaceRequest(id=[f"w{worker}x{counts[worker]}"]))
            counts[worker] += 1

    workers = [threading.Thread(target=create, args=(worker,)) for worker in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return counts


def _processes(name: str, root: str) -> list[int]:
    children = [_child("create", name, root, str(number)) for number in range(PROCESSES)]
    for child in children:
        _read(child)
    for child in children:
        _say(child)
    return [int(child.communicate()[0] or 0) for child in children]


def _child(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.catalog", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _read(child: subprocess.Popen[str]) -> str:
    return child.stdout.readline() if child.stdout else ""


def _say(child: subprocess.Popen[str]) -> None:
    if child.stdin:
        child.stdin.write("go\n")
        child.stdin.flush()


def _create_in_child(name: str, root: str, worker: str) -> None:
    namespace = OPEN[name](root)
    namespace.create_namespace(CreateNamespaceRequest(id=[f"ready{worker}"]))
    print("ready", flush=True)
    sys.stdin.readline()
    count, stop = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < stop:
        namespace.create_namespace(CreateNamespaceRequest(id=[f"p{worker}x{count}"]))
        count += 1
    print(count)


def _memory_in_child(name: str, root: str) -> None:
    """What a client adds to the process once it has listed and looked up."""
    before = _resident()
    namespace = OPEN[name](root)
    namespace.list_tables(ListTablesRequest(id=["ns"], limit=100))
    namespace.table_exists(TableExistsRequest(id=["ns", "t00000007"]))
    print(_resident() - before)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


_CHILDREN: dict[str, Callable[..., None]] = {"create": _create_in_child, "memory": _memory_in_child}

if __name__ == "__main__":
    _CHILDREN[sys.argv[1]](*sys.argv[2:])

"""Who streams rows out of tables and into them, each in a process of its own; run as a script, it is such a process.

How soon a process gets memory depends on what it did before: after a large block was freed, glibc serves the next ones
itself, otherwise the kernel does, which clears them. In the process of the benchmark, that would be chance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from benchmarks.peak import most_megabytes
from lancespace.authoring import keep_freed_memory

ALL_ROWS: dict[str, Any] = {"k": 2147483647, "vector": {}}


class Streamer:
    """One of them, seen from the benchmark."""

    def __init__(self, kind: str, address: str) -> None:
        command = [sys.executable, "-m", __name__, kind, address]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, work: str, *arguments: str) -> float:
        """Have it do some work, and tell how many seconds that took."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("it has no pipes")
        print(json.dumps([work, *arguments]), file=self._process.stdin, flush=True)
        seconds = self._process.stdout.readline()
        if not seconds:
            raise RuntimeError(f"it failed, and has written why: {self._process.args!r}")
        return float(seconds)

    def peak_megabytes(self) -> float:
        """The most memory that it has had."""
        return most_megabytes(self._process.pid)

    def stop(self) -> None:
        """Let it end."""
        self._process.communicate()


@contextmanager
def streamer(kind: str, address: str = "") -> Iterator[Streamer]:
    """A process of one kind: ``rest``, ``sdk`` or ``tuned``."""
    started = Streamer(kind, address)
    try:
        yield started
    finally:
        started.stop()


def _rest(uri: str) -> dict[str, Callable[..., None]]:
    """Our client, as a user has it."""
    from lancespace import connect

    namespace = connect("rest", {"uri": uri})

    def query(table: str) -> None:
        _exhaust(namespace.table(table).query(**ALL_ROWS))

    def insert(table: str, path: str) -> None:
        namespace.insert_into_table(table, _read(path))

    return {"query": query, "insert": insert}


def _sdk(_: str) -> dict[str, Callable[..., None]]:
    """Pylance alone."""
    import lance

    def query(location: str) -> None:
        _exhaust(lance.dataset(location).scanner().to_reader())

    def insert(location: str, path: str) -> None:
        lance.write_dataset(_read(path), location, mode="append")

    return {"query": query, "insert": insert}


def _tuned(_: str) -> dict[str, Callable[..., None]]:
    """Pylance in a process that keeps memory, as our server does."""
    keep_freed_memory()
    return _sdk(_)


_KINDS = {"rest": _rest, "sdk": _sdk, "tuned": _tuned}


def _exhaust(reader: pa.RecordBatchReader) -> None:
    for _ in reader:
        pass


def _read(path: str) -> pa.RecordBatchReader:
    return pa.ipc.open_stream(pa.OSFile(path))


def _work(kind: str, address: str) -> None:
    """Do what comes on standard input; what earlier work wrote is on the disk before the next begins."""
    works = _KINDS[kind](address)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        os.sync()
        started = time.perf_counter()
        works[name](*arguments)
        print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    _work(*sys.argv[1:])

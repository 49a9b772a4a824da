"""A server that is attacked with expressions, and what must hold after each attack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from lancespace_testing.samples import stream
from plugins.server.tests.hosting import Running, client, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
ROWS = 100
TYPED = "typed-"
"""Begins the names of the tables with columns of all types."""


def rows() -> pa.Table:
    """Each text looks like a number and has a NUL: an error that shows one must not end the process."""
    vectors = pa.array([[float(n), 1.0] for n in range(ROWS)], pa.list_(pa.float32(), 2))
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "s": [f"{n}\0" for n in range(ROWS)],
            "l": [[n, n + 1] for n in range(ROWS)],
            "v": vectors,
        }
    )


def typed_rows() -> pa.Table:
    """A column of each type that Lance stores; texts and bytes have a NUL where they can."""
    noon = datetime(2020, 1, 1, 12, tzinfo=timezone.utc)
    numbers = range(ROWS)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "s": [f"{n}\0" for n in numbers],
            "t": [f"text number {n} and more" for n in numbers],
            "l": [[n, n + 1] for n in numbers],
            "ls": [[str(n), "a\0"] for n in numbers],
            "v": pa.array([[float(n), 1.0] for n in numbers], pa.list_(pa.float32(), 2)),
            "st": [{"a": n, "b": f"x{n}\0", "c": {"d": n}} for n in numbers],
            "bin": [bytes([n % 256, 0]) for n in numbers],
            "lb": pa.array([b"abc\0"] * ROWS, pa.large_binary()),
            "f": [n / 3 for n in numbers],
            "f16": pa.array(numbers, pa.float32()).cast(pa.float16()),
            "b": [n % 2 == 0 for n in numbers],
            "u8": pa.array([n % 256 for n in numbers], pa.uint8()),
            "i8": pa.array([-128 if n % 2 else 127 for n in numbers], pa.int8()),
            "u64": pa.array([2**64 - 1 - n for n in numbers], pa.uint64()),
            "d": [noon.date()] * ROWS,
            "ts": pa.array([noon] * ROWS, pa.timestamp("us")),
            "tz": pa.array([noon] * ROWS, pa.timestamp("us", tz="UTC")),
            "dur": pa.array([timedelta(days=n) for n in numbers], pa.duration("ns")),
            "tm": pa.array([noon.time()] * ROWS, pa.time64("us")),
            "dec": pa.array([Decimal("1.10")] * ROWS, pa.decimal128(38, 10)),
            "dc": pa.array(["a", "b\0"] * (ROWS // 2)).dictionary_encode(),
            "lst": [[{"p": n, "q": "z\0"}] for n in numbers],
            "Odd Name": pa.array(numbers, pa.int64()),
        }
    )


@contextmanager
def attacked(folder: Path, *options: str) -> Iterator[tuple[Running, httpx.Client]]:
    """A server in processes of its own with the tables ``t`` and ``spare``, and two of many types."""
    root = f"root={folder / 'catalog'}"
    with served(folder, "dir", root, "--no-access-log", *options) as server, client(server) as http:
        for prefix, data in (("", rows()), (TYPED, typed_rows())):
            for table in ("t", "spare"):
                path = f"/v1/table/{prefix}{table}/create"
                assert http.post(path, content=stream(data), headers=ARROW).status_code == 200
        yield server, http


def peak_mb(process_id: int) -> int:
    """The largest resident memory that a process has had, with that of its children."""
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    status = Path(f"/proc/{process_id}/status").read_text()
    own = int(status.partition("VmHWM:")[2].split()[0]) // 1024
    return max([own, *(peak_mb(int(child)) for child in children)])


def requests_with(expression: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every request, by path and body, that has the expression evaluated; those that change rows match none."""
    yield "t/query", {"k": 5, "vector": {}, "filter": expression}
    yield "t/query", {"k": 5, "vector": {"single_vector": [1.0, 1.0]}, "filter": expression}
    yield "t/query", {"k": 5, "vector": {}, "columns": {"column_aliases": {"id": "id", "x": expression}}}
    yield "t/explain_plan", {"query": {"k": 5, "vector": {}, "filter": expression}}
    yield "t/analyze_plan", {"k": 5, "vector": {}, "filter": expression}
    yield "t/count_rows", {"predicate": expression}
    yield "spare/delete", {"predicate": f"id < 0 AND ({expression})"}
    yield "spare/update", {"predicate": f"id < 0 AND ({expression})", "updates": [["id", "1"]]}
    yield "spare/update", {"predicate": "id < 0", "updates": [["s", expression]]}
    yield "spare/add_columns", {"new_columns": [{"name": "x", "expression": expression}]}
    yield "spare/add_columns", {"new_columns": [{"name": "x", "computed": expression}]}
    yield "t/backfill_column", {"column": "x", "where": expression}

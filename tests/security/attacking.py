"""A server that is attacked with expressions, and what must hold after each attack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from lancespace.testing.samples import stream
from plugins.server.tests.hosting import Running, client, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
ROWS = 100


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


@contextmanager
def attacked(folder: Path, *options: str) -> Iterator[tuple[Running, httpx.Client]]:
    """A server in processes of its own with the tables ``t`` and ``spare``."""
    root = f"root={folder / 'catalog'}"
    with served(folder, "dir", root, "--no-access-log", *options) as server, client(server) as http:
        for table in ("t", "spare"):
            assert http.post(f"/v1/table/{table}/create", content=stream(rows()), headers=ARROW).status_code == 200
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

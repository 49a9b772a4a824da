"""Queries for large rows take a bounded amount of memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import lance
import numpy as np
import pyarrow as pa
import pytest

from plugins.server.tests.hosting import Running, client, served

ROWS, BYTES, DIMENSIONS = 4000, 200_000, 4
WORDS = {"string_query": {"query": "word"}}
VECTOR = {"single_vector": [0.5] * DIMENSIONS}
NARROW = {"column_names": ["id", "vector"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("wide")
    location = folder / "catalog" / "wide.lance"
    random = np.random.default_rng(0)

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, ROWS, 100):
            floats = pa.array(random.random(100 * DIMENSIONS, dtype=np.float32))
            yield pa.record_batch(
                {
                    "id": range(start, start + 100),
                    "vector": pa.FixedSizeListArray.from_arrays(floats, DIMENSIONS),
                    "data": [random.bytes(BYTES) for _ in range(100)],
                    "text": ["word"] * 100,
                }
            )

    first = next(batches())
    lance.write_dataset(pa.RecordBatchReader.from_batches(first.schema, batches()), location)
    lance.dataset(location).create_scalar_index("text", "INVERTED")
    with served(folder, "dir", f"root={folder / 'catalog'}") as running:
        yield running


def query(http: httpx.Client, **fields: Any) -> httpx.Response:
    return http.post("/v1/table/wide/query", json={"vector": {}, "k": ROWS, **fields}, timeout=120)


def peak_mb(server: Running) -> int:
    (worker,) = server.workers()
    status = Path(f"/proc/{worker}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


@pytest.mark.parametrize("fields", [{}, {"filter": "id >= 0"}], ids=["all rows", "filtered"])
def test_a_scan_holds_a_few_batches(server, fields):
    received = 0
    with client(server) as http:
        query(http, k=1)
        before = peak_mb(server)
        body = {"vector": {}, "k": ROWS, **fields}
        with http.stream("POST", "/v1/table/wide/query", json=body, timeout=120) as answer:
            assert answer.status_code == 200
            for part in answer.iter_bytes():
                received += len(part)
    assert received > ROWS * BYTES
    assert peak_mb(server) - before < ROWS * BYTES / 1e6


@pytest.mark.parametrize(
    "fields",
    [{"vector": VECTOR}, {"full_text_query": WORDS}, {"vector": VECTOR, "full_text_query": WORDS}],
    ids=["vector", "text", "hybrid"],
)
def test_a_search_whose_result_is_too_large_is_refused(server, fields):
    with client(server) as http:
        refused = query(http, **fields)
        analyzed = http.post("/v1/table/wide/analyze_plan", json={"vector": {}, "k": ROWS, **fields})
        few = query(http, **{**fields, "k": 10})
        narrow = query(http, **fields, columns=NARROW)
    assert (refused.status_code, refused.json()["code"]) == (400, 13)
    assert analyzed.status_code == 400, analyzed.text
    assert "ask for fewer rows, or for fewer columns" in refused.json()["error"]
    assert few.status_code == 200, few.text
    assert narrow.status_code == 200, narrow.text

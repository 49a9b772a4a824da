"""Memory does not grow with what streams through the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lancespace import Namespace, connect
from plugins.server.tests.hosting import Running, served

DIMENSIONS = 256
BATCH = pa.record_batch(
    [pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(4000 * DIMENSIONS, np.float32)), DIMENSIONS)], ["vector"]
)
"""Four megabytes."""

FEW, MANY = 50, 150
ALLOWED = 200.0
"""In megabytes; twice that is what the longer stream has more than the shorter, which fills all buffers."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("memory")
    with served(folder, "dir", f"root={folder / 'catalog'}") as running:
        yield running


def test_streams_of_any_length_take_the_same(server: Running):
    with connect("rest", {"uri": server.url}) as namespace:
        _send_and_fetch(namespace, "few", FEW)
        before = _peak(server)
        _send_and_fetch(namespace, "many", MANY)

    assert _peak(server) - before < ALLOWED


def _send_and_fetch(namespace: Namespace, table: str, batches: int) -> None:
    namespace.create_table(table, BATCH.slice(0, 1))
    namespace.insert_into_table(table, pa.RecordBatchReader.from_batches(BATCH.schema, [BATCH] * batches))
    rows = sum(batch.num_rows for batch in namespace.table(table).query(k=1 << 30))
    assert rows == batches * BATCH.num_rows + 1


def _peak(server: Running) -> float:
    (worker,) = server.workers()
    status = Path(f"/proc/{worker}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1e3

"""Run by test_memory.py: moves many megabytes one way, and prints by how much the process grew beyond its start."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator

import pyarrow as pa

import lancespace

BATCH_MEGABYTES = 4
BATCH = pa.record_batch({"x": pa.array(range(BATCH_MEGABYTES << 17), pa.int64())})


def batches(megabytes: int) -> Iterator[pa.RecordBatch]:
    return (BATCH for _ in range(megabytes // BATCH_MEGABYTES))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(uri: str, direction: str, megabytes: int) -> None:
    with lancespace.connect("rest", {"uri": uri}) as namespace:
        namespace.describe_namespace("warm")
        before = peak_megabytes()
        if direction == "in":
            rows = sum(batch.num_rows for batch in namespace.table("t").query())
            assert rows == megabytes << 17
        else:
            namespace.create_table("t", pa.RecordBatchReader.from_batches(BATCH.schema, batches(megabytes)))
    print(peak_megabytes() - before)  # noqa: T201 - this is its answer.


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

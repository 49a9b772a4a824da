"""Generated rows: a number, a few words and a vector, the same ones every time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike

DIMENSIONS = 64
BATCH_ROWS = 10_000
COLOURS = ("red", "green", "blue", "amber", "black", "white", "grey", "pink")
THINGS = ("lamp", "desk", "chair", "sofa", "shelf", "table", "stool", "bed", "rug", "mirror")
CATEGORIES = [" ".join(words) for words in itertools.product(COLOURS, THINGS)]
SCHEMA = pa.schema(
    {"id": pa.int64(), "category": pa.string(), "vector": pa.list_(pa.field("item", pa.float32()), DIMENSIONS)}
)


def rows(ids: ArrayLike, seed: int = 0) -> pa.RecordBatch:
    """A row for each id."""
    numbers = np.asarray(ids, dtype=np.int64)
    random = np.random.default_rng(seed)
    chosen = pa.array(random.integers(0, len(CATEGORIES), len(numbers), dtype=np.int32))
    categories = pa.DictionaryArray.from_arrays(chosen, pa.array(CATEGORIES)).cast(pa.string())
    floats = pa.array(random.random(len(numbers) * DIMENSIONS, dtype=np.float32))
    vectors = pa.FixedSizeListArray.from_arrays(floats, type=SCHEMA.field("vector").type)
    return pa.record_batch([pa.array(numbers), categories, vectors], schema=SCHEMA)


def batches(count: int) -> Iterator[pa.RecordBatch]:
    """The rows 0 to ``count``, a batch at a time."""
    for start in range(0, count, BATCH_ROWS):
        yield rows(range(start, min(start + BATCH_ROWS, count)), seed=start)


def vector(seed: int) -> list[float]:
    """A vector to search for."""
    return [float(number) for number in np.random.default_rng(seed).random(DIMENSIONS, dtype=np.float32)]


def write_ipc(source: Iterable[pa.RecordBatch], sink: str | pa.NativeFile) -> None:
    """Write batches as an Arrow IPC stream."""
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for batch in source:
            writer.write_batch(batch)


def to_ipc(batch: pa.RecordBatch) -> bytes:
    """A batch as the bytes that the spec's clients send."""
    sink = pa.BufferOutputStream()
    write_ipc([batch], sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data

"""What a batch takes in memory is known before it is unpacked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from lancespace_server.messages import body_size, unpacked_size

COUNT = 1000
VALUES = pa.array(np.arange(COUNT) % 7)
BATCHES = {
    "numbers": pa.record_batch({"a": VALUES}),
    "texts": pa.record_batch({"a": ["some text"] * COUNT, "b": [None, "x"] * (COUNT // 2)}),
    "vectors": pa.record_batch({"a": pa.FixedSizeListArray.from_arrays(np.zeros(COUNT * 16, np.float32), 16)}),
    "structs": pa.record_batch({"a": pa.StructArray.from_arrays([VALUES, VALUES], ["x", "y"])}),
    "no rows": pa.record_batch({"a": VALUES[:0]}),
}


def messages(batch: pa.RecordBatch, compression: str | None) -> Iterator[tuple[str, bytes, bytes]]:
    """The kind, the metadata and the body of each message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    for message in pa.ipc.MessageReader.open_stream(sink.getvalue()):
        yield message.type, message.metadata.to_pybytes(), message.body.to_pybytes() if message.body else b""


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
@pytest.mark.parametrize("kind", BATCHES)
def test_sizes(kind: str, compression: str | None):
    batch = BATCHES[kind]
    (schema, batch_message) = messages(batch, compression)

    assert all(body_size(metadata) == len(body) for _, metadata, body in (schema, batch_message))
    assert unpacked_size(*schema[1:]) == 0
    size = unpacked_size(*batch_message[1:])
    assert batch.nbytes <= size <= batch.nbytes + 64 * len(batch.columns)


def test_values_without_bytes_count():
    *_, (_, metadata, body) = messages(pa.record_batch([pa.nulls(10**9)], ["a"]), None)

    assert not body
    assert unpacked_size(metadata, body) >= 10**9


def test_dictionaries():
    words = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["x" * 50_000]))
    sizes = {kind: unpacked_size(*parts) for kind, *parts in messages(pa.record_batch([words], ["a"]), "zstd")}

    assert sizes["dictionary"] >= 50_000
    assert sizes["record batch"] < 100

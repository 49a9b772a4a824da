"""Parts that are written are all taken, once, and in pieces that are neither tiny nor large."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lancespace._parts import pieces
from lancespace.authoring import Parts

KIB = 1024


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 600 * KIB), max_size=12))
def test_pieces_are_the_same_bytes(sizes: list[int]):
    parts = [bytes([number]) * size for number, size in enumerate(sizes)]

    found = list(pieces(list(parts)))

    assert b"".join(found) == b"".join(parts)
    assert all(len(piece) <= 256 * KIB for piece in found)


def test_small_parts_travel_together():
    found = list(pieces([b"a", b"b", bytes(100 * KIB), b"c", b"d"]))

    assert [len(piece) for piece in found] == [2, 100 * KIB, 2]


def test_large_parts_are_not_copied():
    buffer = pa.py_buffer(bytes(600 * KIB))

    found = list(pieces([buffer]))

    assert [len(piece) for piece in found] == [256 * KIB, 256 * KIB, 88 * KIB]
    assert [pa.py_buffer(piece).address - buffer.address for piece in found] == [0, 256 * KIB, 512 * KIB]


@pytest.mark.parametrize("make", [pa.ipc.new_stream, pa.ipc.new_file])
def test_pyarrow_writes_to_them(make: object):
    batch = pa.record_batch({"a": pa.array(range(100_000)), "b": pa.array(["x", None] * 50_000)})
    sink = Parts()
    with make(pa.PythonFile(sink, mode="w"), batch.schema) as writer:  # type: ignore[operator]
        writer.write_batch(batch)
        first = sink.take()
        writer.write_batch(batch)
    data = b"".join([*first, *sink.take()])

    opened = pa.ipc.open_stream(data) if make is pa.ipc.new_stream else pa.ipc.open_file(pa.BufferReader(data))

    assert opened.read_all().num_rows == 200_000
    assert sink.tell() == len(data)
    assert sink.take() == []
    assert any(isinstance(part, pa.Buffer) and part.address == batch["a"].buffers()[1].address for part in first)

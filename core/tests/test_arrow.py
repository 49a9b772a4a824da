from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError

from lancespace.authoring import ArrowData, from_ipc_file, to_ipc_file

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})
ROWS = TABLE.to_pylist()


def stream_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


class Counting:
    """A reader whose batches are made one by one, and how many were."""

    def __init__(self, batches: int) -> None:
        self.made = 0
        self.reader = pa.RecordBatchReader.from_batches(TABLE.schema, self._batches(batches))

    def _batches(self, number: int) -> Iterator[pa.RecordBatch]:
        for _ in range(number):
            self.made += 1
            yield TABLE.to_batches()[0]


SOURCES: dict[str, Any] = {
    "bytes": lambda: stream_bytes(TABLE),
    "bytearray": lambda: bytearray(stream_bytes(TABLE)),
    "memoryview": lambda: memoryview(stream_bytes(TABLE)),
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": TABLE.to_reader,
    "pandas": lambda: pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None]}),
    "polars": lambda: pl.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None]}),
    "rows": lambda: ROWS,
    "generator": lambda: (batch for row in range(3) for batch in TABLE.slice(row, 1).to_batches()),
    "tables": lambda: [TABLE.slice(0, 1), TABLE.slice(1)],
    "frames": lambda: iter([pl.DataFrame(TABLE)]),
}

every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


@every_source
def test_reader_of_every_source(source: Any):
    assert ArrowData(source()).reader().read_all().to_pylist() == ROWS


@every_source
def test_stream_of_every_source(source: Any):
    data = b"".join(ArrowData(source()).ipc_stream())

    assert pa.ipc.open_stream(data).read_all().to_pylist() == ROWS


def test_pandas_index_is_not_data():
    frame = pd.DataFrame({"id": [1, 2]}, index=["x", "y"])

    assert ArrowData(frame).reader().schema.names == ["id"]


def test_bytes_are_streamed_untouched_in_chunks():
    data = stream_bytes(pa.table({"n": range(500_000)}))
    chunks = list(ArrowData(data).ipc_stream())

    assert len(chunks) > 1
    assert b"".join(chunks) == data


def test_reader_is_passed_on_and_nothing_is_read_before():
    source = Counting(5)

    reader = ArrowData(source.reader).reader()

    assert source.made == 0
    reader.read_next_batch()
    assert source.made == 1


def test_stream_takes_batches_as_it_is_consumed():
    source = Counting(5)
    chunks = ArrowData(source.reader).ipc_stream()
    assert source.made == 0

    first = next(chunks)

    assert source.made == 1
    assert pa.ipc.open_stream(b"".join([first, *chunks])).read_all().num_rows == 15


def test_stream_chunks_do_not_grow():
    source = Counting(50)
    sizes = [len(chunk) for chunk in ArrowData(source.reader).ipc_stream()]

    assert max(sizes[1:]) <= sizes[1], "each chunk holds one batch, whatever was sent before"


def test_stream_without_batches_still_has_its_schema():
    data = b"".join(ArrowData(TABLE.schema.empty_table()).ipc_stream())

    assert pa.ipc.open_stream(data).schema == TABLE.schema


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_buffers_may_be_compressed(compression: str):
    table = pa.table({"x": [7] * 10_000})
    data = b"".join(ArrowData(table).ipc_stream(compression))

    assert pa.ipc.open_stream(data).read_all() == table
    assert len(data) < table.nbytes / 10


@pytest.mark.parametrize(
    ("source", "is_replayable"),
    [
        (stream_bytes(TABLE), True),
        (memoryview(stream_bytes(TABLE)), True),
        (TABLE, True),
        (TABLE.to_batches()[0], True),
        (TABLE.to_pandas(), True),
        ([{"a": 1}], True),
        (TABLE.to_reader(), False),
        ([TABLE, TABLE], True),
        ([TABLE, TABLE.to_reader()], False),
        ([TABLE, iter([TABLE])], False),
        (iter([TABLE]), False),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_may_be_read_again(source: Any, is_replayable: bool):
    data = ArrowData(source)

    assert data.is_replayable is is_replayable
    assert not is_replayable or b"".join(data.ipc_stream()) == b"".join(data.ipc_stream())


def test_length_is_known_of_bytes_only():
    data = stream_bytes(TABLE)

    assert ArrowData(memoryview(data)).ipc_length == ArrowData(data).ipc_length == len(data)
    assert ArrowData(TABLE).ipc_length is None


@pytest.mark.parametrize("source", [b"", b"not arrow", stream_bytes(TABLE)[:40]], ids=["empty", "garbage", "truncated"])
def test_bad_bytes_are_refused(source: bytes):
    with pytest.raises(InvalidInputError, match=r"^The data is not a valid Arrow IPC stream or table: ") as caught:
        ArrowData(source).reader()

    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("source", [None, 5, "text", {}, [], [1, 2], object()], ids=lambda one: type(one).__name__)
def test_what_is_not_data_is_refused_with_what_is(source: Any):
    with pytest.raises(InvalidInputError, match=f"Cannot take {type(source).__name__} as data: pass an Arrow table"):
        ArrowData(source).reader()


def test_a_generator_is_read_as_it_is_written():
    made: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(5):
            made.append(number)
            yield TABLE.to_batches()[0]

    reader = ArrowData(batches()).reader()
    reader.read_next_batch()
    assert made == [0]


@pytest.mark.parametrize(
    ("parts", "words"),
    [([], "yields nothing"), ([1], "a generator of int"), ([{"id": 1}], "a generator of dict")],
    ids=["nothing", "numbers", "rows"],
)
def test_a_generator_must_yield_arrow_data(parts: list[Any], words: str):
    with pytest.raises(InvalidInputError, match=words):
        ArrowData(iter(parts)).reader()


def test_rows_of_different_types_are_refused():
    with pytest.raises(InvalidInputError, match="not a valid Arrow"):
        ArrowData([{"a": 1}, {"a": "x"}]).reader()


def test_ipc_file_there_and_back():
    data = to_ipc_file(Counting(3).reader)

    assert pa.ipc.open_file(data).num_record_batches == 3
    assert from_ipc_file(data).read_all() == pa.concat_tables([TABLE] * 3)


def test_ipc_file_without_batches():
    assert from_ipc_file(to_ipc_file(TABLE.schema.empty_table().to_reader())).schema == TABLE.schema

"""Query results: Arrow files and streams, read as they come, and never silently cut off."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InternalError

from lancespace.authoring import OPERATIONS, from_ipc_file
from plugins.rest.tests.support import Reply, Server

FILE, STREAM = "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"
QUERY = OPERATIONS["query_table"]

Form = Callable[..., bytes]


def table() -> pa.Table:
    """Several batches, with a dictionary, nulls and nested lists."""
    color = pa.array(["red", "blue", None, "red"]).dictionary_encode()
    parts = {"id": pa.array(range(4)), "color": color, "vector": pa.array([[1.0], None, [], [2.0, 3.0]])}
    return pa.concat_tables([pa.table(parts) for _ in range(5)])


def as_file(data: pa.Table, padding: int = 0, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, data.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(data)
    return sink.getvalue()[:8] + bytes(padding) + sink.getvalue()[8:]


def as_stream(data: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, data.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(data)
    return sink.getvalue()


def padded_file(data: pa.Table) -> bytes:
    """As the Rust writer aligns it."""
    return as_file(data, padding=56)


def zstd_file(data: pa.Table) -> bytes:
    return as_file(data, compression="zstd")


every_form = pytest.mark.parametrize("form", [as_file, padded_file, zstd_file, as_stream])


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@every_form
@pytest.mark.parametrize("size", [0, 7, 4096], ids=["whole", "tiny chunks", "chunks"])
def test_batches_come_as_they_were_written(form: Form, size: int):
    data = form(table())
    answer = Reply(200, data, chunks=list(pieces(data, size)) if size else None)
    with Server(answer) as server, server.connect() as namespace:
        reader = namespace.table("t").query()
        assert isinstance(reader, pa.RecordBatchReader)
        assert reader.read_all() == table()
        assert namespace.table("t").to_arrow() == table()

    assert len({seen.peer for seen in server.seen}) == 1


@pytest.mark.parametrize(("form", "kind"), [(as_file, FILE), (as_stream, STREAM)])
def test_the_method_of_the_spec_answers_a_file_and_the_context(form: Form, kind: str):
    data = form(table())
    with (
        Server(Reply(200, data, {"content-type": kind, "x-request-id": "abc"})) as server,
        server.connect() as namespace,
    ):
        answer = namespace.query_table("t")

    assert isinstance(answer.data, bytes)
    assert answer.context is not None
    assert from_ipc_file(answer.data).read_all() == table()
    assert answer.context["header.x-request-id"] == "abc"
    assert answer.data == data or form is as_stream


def test_both_forms_are_asked_for():
    with (
        Server(Reply(200, as_file(table()))) as server,
        server.connect() as plain,
        server.connect(compression="zstd") as compressed,
    ):
        plain.query_table("t")
        compressed.query_table("t")

    first, second = server.seen
    assert first.headers["accept"] == f"{STREAM}, {FILE};q=0.9, application/json;q=0.8"
    assert first.headers["accept-encoding"] == "identity"
    assert "gzip" in second.headers["accept-encoding"]


def test_compressed_answer():
    packed = Reply(200, gzip.compress(as_file(table())), {"content-encoding": "gzip"})
    with Server(packed) as server, server.connect(compression="lz4") as namespace:
        assert namespace.table("t").to_arrow() == table()


def test_garbage_after_a_good_beginning():
    data = as_stream(table())
    broken = data[:300] + b"\x77" * (len(data) - 300)
    with (
        Server(Reply(200, broken)) as server,
        server.connect() as namespace,
        pytest.raises(InternalError, match="is not valid Arrow data"),
    ):
        namespace.call(QUERY, "t").read_all()


def test_a_reader_that_is_left_harms_nobody():
    with Server(Reply(200, as_file(table()))) as server, server.connect() as namespace:
        reader = namespace.table("t").query()
        reader.read_next_batch()
        del reader
        assert namespace.table("t").to_arrow() == table()


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_data_is_compressed_on_its_way(compression: str):
    data = pa.table({"x": pa.array([7] * 100_000)})
    with Server() as server, server.connect(compression=compression) as namespace:
        namespace.create_table("t", data)

    body = server.seen[0].body
    assert pa.ipc.open_stream(body).read_all() == data
    assert (len(body) > data.nbytes) == (compression == "none")


def test_bytes_have_a_length_and_readers_come_in_chunks():
    with Server() as server, server.connect() as namespace:
        namespace.create_table("t", as_stream(table()))
        namespace.create_table("t", table().to_reader())
        namespace.insert_into_table("t", memoryview(as_stream(table())))

    first, second, third = server.seen
    assert first.headers["content-length"] == third.headers["content-length"] == str(len(as_stream(table())))
    assert second.headers["transfer-encoding"] == "chunked"
    assert first.body == second.body == third.body

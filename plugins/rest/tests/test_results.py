"""Query results: Arrow files and streams, read as they come, and never silently cut off."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InternalError, LanceNamespaceError, ServiceUnavailableError

from lancespace.arrow import from_ipc_file
from lancespace.operations import OPERATIONS
from plugins.rest.tests.support import Reply, Server, reset

FILE, STREAM = "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"
QUERY = OPERATIONS["query_table"]

QUICK = {"retry__max_wait": "0.01"}

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


def truncated(data: bytes, size: int, *, framing: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if framing == "length":
            handler.send_header("content-length", str(len(data)))
        elif framing == "chunked":
            handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        if size:
            handler.wfile.write(b"%x\r\n%s\r\n" % (size, data[:size]) if framing == "chunked" else data[:size])
        handler.wfile.flush()
        reset(handler)

    return act


@pytest.mark.parametrize("framing", ["length", "chunked", "none"])
@pytest.mark.parametrize("form", [as_file, as_stream])
def test_an_answer_that_is_cut_off_is_an_error_wherever_it_ends(form: Form, framing: str):
    data = form(table())
    for size in (12, 200, len(data) // 2):
        with Server(Reply(act=truncated(data, size, framing=framing))) as server, server.connect(**QUICK) as namespace:
            with pytest.raises(ServiceUnavailableError, match="was cut off after"):
                namespace.call(QUERY, "t").read_all()
            with pytest.raises(ServiceUnavailableError, match="was cut off after"):
                namespace.query_table("t")


@pytest.mark.parametrize("form", [as_file, as_stream])
def test_an_answer_without_a_length_is_whole_if_its_data_is(form: Form):
    data = form(table())
    whole = Reply(act=truncated(data, len(data), framing="none"))
    with Server(whole) as server, server.connect() as namespace:
        assert namespace.table("t").to_arrow() == table()
        answer = namespace.query_table("t").data

    assert isinstance(answer, bytes)
    assert from_ipc_file(answer).read_all() == table()


def test_a_file_without_its_footer_is_cut_off_for_the_method_of_the_spec():
    with (
        Server(Reply(200, as_file(table())[:-9])) as server,
        server.connect(**QUICK) as namespace,
        pytest.raises(ServiceUnavailableError, match="the footer of the file is missing"),
    ):
        namespace.query_table("t")


def after_two_batches(data: pa.Table) -> bytes:
    """A file that ends between two batches, as one does whose writer died."""
    sink = io.BytesIO()
    writer = pa.ipc.new_file(sink, data.schema)
    for batch in data.to_batches()[:2]:
        writer.write_batch(batch)
    return sink.getvalue()


def in_one_piece(data: bytes) -> Reply:
    return Reply(200, data)


def in_chunks(data: bytes) -> Reply:
    return Reply(200, chunks=[data])


def packed(data: bytes) -> Reply:
    """As far as a compressor that never ended has written it."""
    compressor = zlib.compressobj(wbits=31)
    return Reply(200, compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH), {"content-encoding": "gzip"})


@pytest.mark.parametrize("framed", [in_one_piece, in_chunks, packed])
@pytest.mark.parametrize(
    "data",
    [after_two_batches(table()), as_file(table())[:-9], as_stream(table())[:-8]],
    ids=["file after a batch", "file before its footer", "stream before its end"],
)
def test_data_that_ends_early_is_never_a_shorter_result(framed: Callable[[bytes], Reply], data: bytes):
    """The framing is right: only the data tells."""
    with Server(framed(data)) as server, server.connect(**QUICK, compression="zstd") as namespace:
        for ask in (namespace.table("t").to_arrow, lambda: namespace.query_table("t")):
            with pytest.raises(ServiceUnavailableError, match="was cut off after"):
                ask()


@pytest.mark.parametrize("form", [as_file, as_stream])
@pytest.mark.parametrize("size", [0, 5, 40], ids=["head only", "magic only", "amid the schema"])
@pytest.mark.parametrize("framing", ["length", "chunked", "none"])
def test_a_query_that_breaks_before_anything_is_handed_out_is_repeated(form: Form, size: int, framing: str):
    data = form(table())
    broken = Reply(act=truncated(data, size, framing=framing))
    with Server([broken, Reply(200, data)]) as server, server.connect(**QUICK) as namespace:
        assert namespace.table("t").query().read_all() == table()

    assert len(server.seen) == 2


@pytest.mark.parametrize("form", [as_file, as_stream])
def test_the_method_of_the_spec_hands_out_nothing_before_all_has_come(form: Form):
    data = form(table())
    broken = Reply(act=truncated(data, len(data) - 30, framing="length"))
    with Server([broken, broken, Reply(200, data)]) as server, server.connect(**QUICK) as namespace:
        answer = namespace.query_table("t").data

    assert isinstance(answer, bytes)
    assert from_ipc_file(answer).read_all() == table()
    assert len(server.seen) == 3


def test_the_attempts_of_a_query_are_counted_as_one():
    data = as_file(table())
    broken = Reply(act=truncated(data, len(data) - 30, framing="length"))
    with (
        Server([Reply(503), broken]) as server,
        server.connect(**QUICK, retry__attempts="3") as namespace,
        pytest.raises(ServiceUnavailableError, match="was cut off after"),
    ):
        namespace.query_table("t")

    assert len(server.seen) == 3


def test_batches_before_the_cut_are_whole():
    data = as_file(table())
    with Server(Reply(act=truncated(data, len(data) // 2, framing="length"))) as server, server.connect() as namespace:
        reader = namespace.table("t").query()
        assert reader.read_next_batch().to_pylist() == table().to_batches()[0].to_pylist()
        with pytest.raises(LanceNamespaceError):
            reader.read_all()


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

"""Query results that end too early: asked for again, or an error, and never a shorter result."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pyarrow as pa
import pytest
from lance_namespace import LanceNamespaceError, ServiceUnavailableError

from lancespace.authoring import from_ipc_file
from plugins.rest.tests.support import Reply, Server, reset
from plugins.rest.tests.test_results import QUERY, Form, as_file, as_stream, table

QUICK = {"retry__max_wait": "0.01"}


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

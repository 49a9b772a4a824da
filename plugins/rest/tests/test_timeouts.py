"""Timeouts: each for what it is named after, in both directions, and none longer than the whole may take."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, ServiceUnavailableError

import lancespace
from plugins.rest.tests.support import Reply, Seen, Server, reply, stall

BATCH = pa.record_batch({"x": pa.array(range(1 << 18), pa.int64())})
BY_TOTAL = r"it took longer than timeout\.total"
ANSWER = b'HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{"tables": []}'


def much() -> pa.RecordBatchReader:
    """More than the buffers of two sockets hold."""
    return pa.RecordBatchReader.from_batches(BATCH.schema, (BATCH for _ in range(12)))


@contextmanager
def pausing(seconds: float, *, requests_before: int = 0) -> Iterator[str]:
    """A server that stops reading in the middle of a body; the address of it."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for _ in range(requests_before):
                while b"\r\n\r\n" not in connection.recv(1 << 16):
                    pass
                connection.sendall(ANSWER)
            connection.recv(100)
            over.wait(seconds)
            end = b""
            while not end.endswith(b"0\r\n\r\n") and (data := connection.recv(1 << 20)):
                end = (end + data)[-5:]
            connection.sendall(ANSWER)

    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join(10)


@pytest.mark.parametrize("requests_before", [0, 1], ids=["new connection", "kept connection"])
def test_a_server_that_pauses_has_the_time_to_read_not_that_to_connect(requests_before: int):
    with (
        pausing(0.8, requests_before=requests_before) as uri,
        lancespace.connect("rest", {"uri": uri, "timeout.connect": "0.3"}) as namespace,
    ):
        for _ in range(requests_before):
            namespace.list_tables()
        namespace.create_table("t", much())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"timeout.read": "0.3"}, "broke before the answer was whole: timed out.*may have been carried out"),
        ({"timeout.total": "0.3"}, BY_TOTAL),
    ],
)
def test_a_server_that_stops_reading(given: dict[str, str], message: str):
    begun = time.monotonic()
    with (
        pausing(60) as uri,
        lancespace.connect("rest", {"uri": uri, "timeout.connect": "60", **given}) as namespace,
        pytest.raises(ServiceUnavailableError, match=message),
    ):
        namespace.create_table("t", much())

    assert time.monotonic() - begun < 30


def test_the_whole_ends_while_data_is_made():
    def slowly() -> Iterator[pa.RecordBatch]:
        for _ in range(1000):
            time.sleep(0.02)
            yield BATCH.slice(0, 1)

    with (
        Server() as server,
        server.connect(timeout__total="0.3") as namespace,
        pytest.raises(ServiceUnavailableError, match=BY_TOTAL),
    ):
        namespace.create_table("t", pa.RecordBatchReader.from_batches(BATCH.schema, slowly()))


@pytest.mark.parametrize("closing", [False, True], ids=["kept", "last on its connection"])
@pytest.mark.parametrize("operation", ["describe_table", "query_table"])
def test_silence_in_the_middle_of_an_answer_ends_with_the_whole(operation: str, closing: bool):
    """It began in time; the wait for the rest may not take as long once more."""
    paused = 0.6

    def begin(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "100")
        if closing:
            handler.send_header("connection", "close")
        handler.end_headers()
        for piece in (b"ARROW1\0\0", b"\xff\xff\xff\xff"):
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(paused / 2)
        stall(handler)

    begun = time.monotonic()
    with (
        Server(Reply(act=begin)) as server,
        server.connect(timeout__total="1", retry__attempts="1") as namespace,
        pytest.raises(ServiceUnavailableError, match=BY_TOTAL),
    ):
        getattr(namespace, operation)("t")

    assert time.monotonic() - begun < 1 + paused / 2


def test_a_limit_of_one_operation_is_none_of_the_next():
    """They share a connection."""

    def answer(_: Seen) -> Reply:
        time.sleep(0.6 if len(server.seen) == 2 else 0)
        return reply()

    with Server(answer) as server, server.connect(timeout__total="1", timeout__read="60") as namespace:
        namespace.describe_namespace("a")
        time.sleep(0.6)
        namespace.describe_namespace("a")

    assert len({seen.peer for seen in server.seen}) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("connect", "read", "total") for value in ("0", "-1", "inf", "nan", "1e12")],
)
def test_seconds_that_cannot_be_waited_are_refused_at_connect(name: str, value: str):
    with pytest.raises(InvalidInputError, match=f"'timeout.{name}' must be a number of seconds above 0"):
        lancespace.connect("rest", {"uri": "http://host", f"timeout.{name}": value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("retry.max_wait", "nan"), ("retry.max_wait", "-1"), ("retry.attempts", "0"), ("pool.size", "0")],
)
def test_numbers_that_cannot_be_kept_are_refused_at_connect(name: str, value: str):
    with pytest.raises(InvalidInputError, match=f"the property '{name}' must be a"):
        lancespace.connect("rest", {"uri": "http://host", name: value})

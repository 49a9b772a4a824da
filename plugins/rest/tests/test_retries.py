"""Requests are repeated where that is safe, and only there."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, LanceNamespaceError, ServiceUnavailableError, ThrottlingError

import lancespace
from lancespace.authoring import OPERATIONS, model
from lancespace_rest import bodies
from lancespace_rest.retries import RetryPolicy, is_safe_after_status, retry_after
from lancespace_testing.samples import sample, stream
from plugins.rest.tests.support import Reply, Server, error, reply, reset

QUICK = {"retry__max_wait": "0.01"}
BUSY = error(17, "busy", 503)
SLOW_DOWN = error(21, "slow down", 429)
FOUND = reply({"location": "/x"})


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    """Promise more than is sent."""
    handler.send_response(200)
    handler.send_header("content-length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"location"')
    handler.wfile.flush()
    reset(handler)


UNCERTAIN = [BUSY, Reply(502), Reply(504), Reply(act=reset), Reply(act=cut_off)]
"""After these, nobody knows whether the request was carried out."""


@pytest.mark.parametrize("trouble", [*UNCERTAIN, SLOW_DOWN, Reply(408)])
def test_reads_are_repeated(trouble: Reply):
    with Server([trouble, trouble, FOUND]) as server, server.connect(**QUICK) as namespace:
        assert namespace.describe_table("t").location == "/x"

    assert len(server.seen) == 3


@pytest.mark.parametrize("trouble", [*UNCERTAIN, Reply(408)])
def test_writes_are_not_repeated(trouble: Reply):
    """The server is asked whether it keeps idempotency keys, and does not say so."""
    with (
        Server([trouble, FOUND]) as server,
        server.connect(**QUICK) as namespace,
        pytest.raises(ServiceUnavailableError),
    ):
        namespace.declare_table("t")

    assert [seen.method for seen in server.seen].count("POST") == 1
    assert {seen.target for seen in server.seen[1:]} <= {"/v1/namespace/%24/list?delimiter=%24&limit=1"}


def test_a_write_that_was_refused_is_repeated():
    with Server([SLOW_DOWN, FOUND]) as server, server.connect(**QUICK) as namespace:
        assert namespace.declare_table("t").location == "/x"

    assert len(server.seen) == 2


def test_a_write_is_repeated_if_the_server_keeps_its_key():
    """The key is the same; what the server answers itself is repeated only if it asks for that."""

    def echo(handler: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
        handler.send_response(status)
        for name, value in {"idempotency-key": handler.headers["idempotency-key"], **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", "2")
        handler.end_headers()
        handler.wfile.write(b"{}")

    found = Reply(act=lambda handler: echo(handler, 200))
    later = Reply(act=lambda handler: echo(handler, 409, retry_after="0"))
    doubtful = Reply(act=lambda handler: echo(handler, 503))
    replies = [Reply(act=reset), found, later, BUSY, found, doubtful]
    with Server(replies) as server, server.connect(**QUICK) as namespace:
        namespace.declare_table("t")
        with pytest.raises(ServiceUnavailableError):
            namespace.declare_table("u")
    keys = [seen.headers["idempotency-key"] for seen in server.seen]
    assert [seen.method for seen in server.seen] == ["POST", "GET", "POST", "POST", "POST", "POST"]
    assert len(set(keys[:5])) == 1
    assert keys[5] != keys[0]


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_writes_have_a_key(row: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bodies, "body_of", lambda *_, **__: bodies.JsonBody())
    with lancespace.connect("rest", {"uri": "http://127.0.0.1:1"}) as namespace:
        request = model(row.request).model_construct(id=["t"], index_name="i")
        message = namespace.backend._message(row, request, None)

    assert ("idempotency-key" in message.headers) is row.writes


def test_whoever_wrote_is_told_that_it_may_have_happened():
    with (
        Server(Reply(act=reset)) as server,
        server.connect(**QUICK) as namespace,
        pytest.raises(ServiceUnavailableError, match="may have been carried out all the same") as caught,
    ):
        namespace.declare_table("t")

    assert str(caught.value).startswith(f"declare_table 't': the connection to {server.uri} broke before the answer")


@pytest.mark.parametrize(
    "trouble", [BUSY, Reply(502), Reply(503), Reply(504, b"<html>gateway timeout</html>")], ids=str
)
def test_whoever_wrote_is_told_so_by_a_gateway_too(trouble: Reply):
    doubt = r"\. It may have been carried out all the same: look before you repeat it\.$"
    with Server(trouble) as server, server.connect(**QUICK) as namespace:
        with pytest.raises(ServiceUnavailableError, match=doubt):
            namespace.declare_table("t")
        with pytest.raises(ServiceUnavailableError) as caught:
            namespace.describe_table("t")

    assert "carried out" not in str(caught.value)


def test_a_kept_connection_that_the_server_closed_is_no_attempt_of_a_write():
    """It is noticed before anything is sent."""
    closed = threading.Event()

    def answer_and_close(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "2")
        handler.end_headers()
        handler.wfile.write(b"{}")
        reset(handler)
        closed.set()

    with (
        Server([Reply(act=answer_and_close), FOUND]) as server,
        server.connect(retry__attempts="1") as namespace,
    ):
        namespace.describe_namespace("a")
        assert closed.wait(10)
        assert namespace.declare_table("t").location == "/x"

    assert len({seen.peer for seen in server.seen}) == 2


def test_a_kept_connection_that_breaks_under_a_write_leaves_a_doubt():
    """The server may have taken the request just before it closed; nobody can tell, so it is not sent again."""
    with Server([reply(), Reply(act=reset), FOUND]) as server, server.connect(**QUICK) as namespace:
        namespace.describe_namespace("a")
        with pytest.raises(ServiceUnavailableError, match="may have been carried out"):
            namespace.declare_table("t")

    assert [seen.method for seen in server.seen] == ["POST", "POST", "GET"]
    assert len({seen.peer for seen in server.seen[:2]}) == 1


@pytest.mark.parametrize(
    "trouble", [Reply(400), Reply(404), Reply(409), Reply(500), error(14, "conflict", 409)], ids=str
)
def test_errors_that_stay_are_not_repeated(trouble: Reply):
    with Server([trouble, FOUND]) as server, server.connect(**QUICK) as namespace, pytest.raises(LanceNamespaceError):
        namespace.describe_table("t")

    assert len(server.seen) == 1


def test_attempts_are_counted():
    with (
        Server(BUSY) as server,
        server.connect(**QUICK, retry__attempts="3") as namespace,
        pytest.raises(ServiceUnavailableError, match="busy"),
    ):
        namespace.describe_table("t")

    assert len(server.seen) == 3


@pytest.mark.parametrize("asked", ["3600", formatdate(4e9, usegmt=True)])
def test_nobody_waits_longer_than_max_wait(asked: str):
    with (
        Server(error(21, "slow down", 429, retry_after=asked)) as server,
        server.connect() as namespace,
        pytest.raises(ThrottlingError, match="slow down"),
    ):
        namespace.describe_table("t")

    assert len(server.seen) == 1


def test_connection_that_was_never_made_is_tried_again_for_writes_too():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    policy = {"retry.attempts": "3", "retry.max_wait": "0.01"}
    with (
        lancespace.connect("rest", {"uri": f"http://127.0.0.1:{port}", **policy}) as namespace,
        pytest.raises(ServiceUnavailableError, match=r"cannot reach http://127.0.0.1:\d+: .*Connection refused"),
    ):
        namespace.declare_table("t")


def test_host_that_does_not_exist():
    with (
        lancespace.connect("rest", {"uri": "http://nowhere.invalid", "retry.attempts": "1"}) as namespace,
        pytest.raises(ServiceUnavailableError, match=r"cannot reach http://nowhere\.invalid"),
    ):
        namespace.list_tables()


def reader() -> pa.RecordBatchReader:
    return sample().to_reader()


@pytest.mark.parametrize(
    ("make", "sent"), [(sample, 2), (lambda: stream(sample()), 2), (reader, 1), (lambda: [reader()], 1)]
)
def test_data_is_sent_again_if_it_can_be(make: Any, sent: int):
    with Server([SLOW_DOWN, FOUND]) as server, server.connect(**QUICK) as namespace:
        if sent == 1:
            with pytest.raises(ThrottlingError):
                namespace.create_table("t", make())
        else:
            namespace.create_table("t", make())

    assert [seen.body for seen in server.seen] == [stream(sample())] * sent


@pytest.mark.parametrize("kind", [BrokenPipeError, ConnectionResetError, TimeoutError])
def test_data_that_fails_like_a_connection_is_told_at_once(kind: type[OSError]):
    """urllib3 takes some of these for a server that has answered early, and waits for that answer."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield sample().to_batches()[0]
        raise kind(errno.EPIPE, "the pipe of the source broke")

    data = pa.RecordBatchReader.from_batches(sample().schema, batches())
    begun = time.monotonic()
    with (
        Server(FOUND) as server,
        server.connect(timeout__read="60") as namespace,
        pytest.raises(LanceNamespaceError, match="the pipe of the source broke"),
    ):
        namespace.create_table("t", data)

    assert time.monotonic() - begun < 30


def test_data_that_fails_is_the_fault_of_nobody_else():
    def batches() -> Iterator[pa.RecordBatch]:
        yield sample().to_batches()[0]
        raise OSError("the disk of the source is gone")

    data = pa.RecordBatchReader.from_batches(sample().schema, batches())
    with (
        Server(FOUND) as server,
        server.connect(**QUICK) as namespace,
        pytest.raises(LanceNamespaceError, match="the disk of the source is gone"),
    ):
        namespace.create_table("t", data)

    assert [seen.is_whole for seen in server.seen] in ([], [False])


def test_data_that_is_none():
    with (
        Server(FOUND) as server,
        server.connect() as namespace,
        pytest.raises(InvalidInputError, match="Cannot take int as data"),
    ):
        namespace.create_table("t", 3)


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_the_table_says_what_is_safe(row: Any):
    assert is_safe_after_status(row, 429)
    assert is_safe_after_status(row, 503) is not row.writes
    assert not is_safe_after_status(row, 500)


def test_pauses_grow_have_jitter_and_an_end():
    policy = RetryPolicy(attempts=8, max_wait=1.0)
    pauses = [[policy.pause(attempt, None) or 0.0 for _ in range(200)] for attempt in range(1, 8)]

    assert all(0 <= pause <= min(1.0, 0.1 * 2**number) for number, row in enumerate(pauses, 1) for pause in row)
    assert all(len(set(row)) > 100 for row in pauses)
    assert policy.pause(8, None) is None
    assert 0.7 <= (policy.pause(1, 0.7) or 0) <= 1.0
    assert policy.pause(1, 1.1) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(None, None), ("7", 7.0), (" 0 ", 0.0), ("soon", None), ("-3", None), (formatdate(0, usegmt=True), 0.0)],
)
def test_retry_after(text: str | None, seconds: float | None):
    assert retry_after(text) == seconds

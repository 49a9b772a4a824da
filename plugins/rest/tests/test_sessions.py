"""Connections: kept open, shared, timed, by way of a proxy, and without what the machine would add by itself."""

from __future__ import annotations

import gzip
import logging
import pickle
import socket
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote

import pytest
from lance_namespace import ServiceUnavailableError

import lancespace
from lancespace_testing.samples import sample
from plugins.rest.tests.support import Reply, Seen, Server, reply, reset, stall


def test_connections_are_kept_open_and_shared_by_threads():
    barrier = threading.Barrier(4)

    def together(number: int) -> None:
        barrier.wait()
        for _ in range(10):
            namespace.describe_namespace(f"n{number}")

    with Server() as server, server.connect() as namespace, ThreadPoolExecutor(4) as pool:
        list(pool.map(together, range(4)))

    assert len(server.seen) == 40
    assert len({seen.peer for seen in server.seen}) <= 4
    assert {seen.json["id"][0] for seen in server.seen} == {"n0", "n1", "n2", "n3"}


def test_pool_size_is_what_is_kept_and_no_limit(caplog: pytest.LogCaptureFixture):
    """More threads than that open others, which are closed after their answer; nothing is wrong with that."""
    caplog.set_level(logging.WARNING, logger="urllib3.connectionpool")  # Other libraries turn it down.
    together = threading.Barrier(4)

    def answer(seen: Seen) -> Reply:
        if seen.json["id"] == ["together"]:
            together.wait(10)
        return reply()

    with Server(answer) as server, server.connect(pool__size="2") as namespace, ThreadPoolExecutor(4) as threads:
        list(threads.map(namespace.describe_namespace, ["together"] * 4))
        for _ in range(3):
            namespace.describe_namespace("alone")

    peers = [seen.peer for seen in server.seen]
    assert len(set(peers)) == 4
    assert len(set(peers[4:])) == 1
    assert caplog.records == []


def test_a_closed_namespace_holds_no_connection():
    gone = threading.Event()

    def answer_and_wait(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "2")
        handler.end_headers()
        handler.wfile.write(b"{}")
        handler.wfile.flush()
        handler.close_connection = True
        if handler.rfile.read(1) == b"":
            gone.set()

    with Server(Reply(act=answer_and_wait)) as server:
        with server.connect() as namespace:
            namespace.describe_namespace("a")
        assert gone.wait(10)


def test_a_connection_that_the_server_closed_is_replaced():
    def answer_once(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "2")
        handler.end_headers()
        handler.wfile.write(b"{}")
        handler.close_connection = True

    with Server(Reply(act=answer_once)) as server, server.connect() as namespace:
        for _ in range(5):
            namespace.describe_namespace("a")

    assert len({seen.peer for seen in server.seen}) == 5


def test_connect_timeout():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, ExitStack() as stack:
        for _ in range(2):  # More than wait at its door are not let in, and not sent away either.
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        properties = {"timeout.connect": "0.1", "retry.attempts": "1"}
        namespace = stack.enter_context(
            lancespace.connect("rest", {"uri": f"http://127.0.0.1:{deaf.getsockname()[1]}", **properties})
        )
        with pytest.raises(ServiceUnavailableError, match="timed out"):
            namespace.describe_namespace("a")


def test_read_timeout():
    with (
        Server(Reply(act=stall)) as server,
        server.connect(timeout__read="0.05", retry__attempts="1") as namespace,
        pytest.raises(ServiceUnavailableError, match="timed out"),
    ):
        namespace.describe_namespace("a")


def test_total_timeout_ends_the_repeats():
    with (
        Server(Reply(act=stall)) as server,
        server.connect(timeout__total="0.3", timeout__read="0.1", retry__attempts="1000") as namespace,
        pytest.raises(ServiceUnavailableError),
    ):
        namespace.describe_namespace("a")

    assert len(server.seen) < 10


def drip(handler: BaseHTTPRequestHandler) -> None:
    """One byte at a time, each of them within the read timeout."""
    handler.send_response(200)
    handler.send_header("content-length", "100000")
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b" " * 10)
        handler.wfile.flush()
        time.sleep(0.01)


def test_total_timeout_ends_an_answer_that_never_ends():
    with (
        Server(Reply(act=drip)) as server,
        server.connect(timeout__total="0.3") as namespace,
        pytest.raises(ServiceUnavailableError, match=r"it took longer than timeout\.total \(0\.3 s\)"),
    ):
        namespace.describe_namespace("a")


def test_proxy():
    with (
        Server(reply({"tables": ["by proxy"]})) as proxy,
        lancespace.connect("rest", {"uri": "http://catalog.invalid/x", "proxy": proxy.uri}) as namespace,
    ):
        assert list(namespace.tables()) == ["by proxy"]

    assert proxy.seen[0].target.startswith("http://catalog.invalid/x/v1/namespace/%24/table/list")


def test_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    with Server(reply({"tables": []})) as proxy, Server(reply({"tables": []})) as direct:
        monkeypatch.setenv("http_proxy", proxy.uri)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with lancespace.connect("rest", {"uri": "http://catalog.invalid"}) as namespace:
            namespace.list_tables()
        with direct.connect() as namespace:
            namespace.list_tables()
        monkeypatch.setenv("no_proxy", "")
        with lancespace.connect("rest", {"uri": "http://catalog.invalid", "proxy": direct.uri}) as namespace:
            namespace.list_tables()

    assert (len(proxy.seen), len(direct.seen)) == (1, 2)


def test_a_password_in_netrc_is_nobodys_business(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    token = {"access_token": "t", "expires_in": 60}
    with Server(reply(token)) as server:
        options = {"token_url": f"{server.uri}/token", "client_id": "id", "client_secret": "secret"}
        properties = {f"rest__auth__oauth2__{name}": value for name, value in options.items()}
        with server.connect(rest__auth__type="oauth2", **properties) as namespace:
            namespace.describe_namespace("a")

    assert [seen.headers["authorization"] for seen in server.seen] == ["Basic aWQ6c2VjcmV0", "Bearer t"]


def test_cookies_are_not_kept():
    with Server(reply(set_cookie="session=1")) as server, server.connect() as namespace:
        namespace.describe_namespace("a")
        namespace.describe_namespace("a")
        kept = list(namespace.backend._transport.session.cookies)

    assert "cookie" not in server.seen[1].headers
    assert kept == []


def test_answers_may_be_compressed():
    packed = Reply(200, gzip.compress(b'{"properties": {"a": "b"}}'), {"content-encoding": "gzip"})
    with Server(packed) as server, server.connect() as namespace:
        assert namespace.describe_namespace("a").properties == {"a": "b"}

    assert "gzip" in server.seen[0].headers["accept-encoding"]


def test_a_pickled_namespace_connects_anew():
    with Server() as server, server.connect(header__x="1") as namespace:
        with pickle.loads(pickle.dumps(namespace)) as copy:
            copy.describe_namespace("a")

        assert copy.namespace_id() == namespace.namespace_id() == f"rest(uri={server.uri}, delimiter=$)"
    assert server.seen[0].headers["x"] == "1"


def test_no_secret_is_logged_or_shown(caplog: pytest.LogCaptureFixture):
    secret = "hunter2"
    properties = {
        "rest__auth__type": "basic",
        "rest__auth__basic__username": "me",
        "rest__auth__basic__password": secret,
        "header__x-key": secret,
    }
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="urllib3.connectionpool")  # Other libraries turn it down.
    with Server(Reply(502)) as server, server.connect(**properties, retry__max_wait="0.01") as namespace:
        with pytest.raises(ServiceUnavailableError) as caught:
            namespace.create_table("t", sample(), storage_options={"aws_secret_access_key": secret})
        with pytest.raises(ServiceUnavailableError):
            namespace.describe_table("t")
        shown = f"{namespace!r} {namespace.backend.settings!r} {caught.value}"

    assert "storage_options" in server.seen[0].target
    assert "urllib3.connectionpool" in {record.name for record in caplog.records}
    assert secret not in caplog.text
    assert secret not in shown


@pytest.mark.parametrize("uri", ["http://127.0.0.1:1", "reset"])
def test_no_secret_is_in_a_traceback(uri: str):
    """requests quotes the URL in its own errors, and the spec puts storage options into it."""
    secret = "2retnuh"[::-1]
    with Server(Reply(act=reset)) as server:
        given = {"uri": server.uri if uri == "reset" else uri, "retry.attempts": "1"}
        with lancespace.connect("rest", given) as namespace, pytest.raises(ServiceUnavailableError) as caught:
            namespace.create_table("t", sample(), storage_options={"aws_secret_access_key": secret})

    assert all(secret in unquote(seen.target) for seen in server.seen)
    assert secret not in "".join(traceback.format_exception(caught.value))

"""Callers that are slow: they are cut off in time, and nobody else has to wait for them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pytest

from lancespace_testing.samples import COUNT, stream
from lancespace_testing.waiting import until
from plugins.server.tests.callers import (
    ARROW,
    BIG,
    chunk,
    connection,
    fill,
    head,
    huge_query,
    idle,
    queries,
    received,
    under_way,
    upload_head,
    versions,
)
from plugins.server.tests.credentials import Authority
from plugins.server.tests.hosting import Running, client, served

HASTY = ["--header-timeout", "1", "--idle-timeout", "1", "--buffer-bytes", "1000000"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("slow")
    with served(folder, "dir", f"root={folder / 'catalog'}", *HASTY) as running:
        yield running


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with client(server) as opened:
        yield opened


def test_a_slow_head_is_cut_off_while_others_are_served(server: Running, http: httpx.Client):
    with connection(server) as slow:
        slow.sendall(b"GET /v1/table HTTP/1.1\r\nhost: localh")

        assert http.get("/v1/table").status_code == 200
        answer = received(slow)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"The head of the request did not come within 1 s." in answer


def test_a_connection_that_says_nothing_is_closed(server: Running):
    with connection(server) as silent:
        assert received(silent) == b""


@pytest.mark.parametrize("verb", ["create", "insert"])
def test_a_slow_body_is_cut_off(server: Running, http: httpx.Client, verb: str):
    table = f"slow_{verb}"
    if verb == "insert":
        fill(http, table)
    with connection(server) as slow:
        slow.sendall(upload_head(table, verb) + chunk(BIG[:4_000_000]))
        answer = received(slow)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"Nothing of the request's body came within 1 s." in answer
    idle(http)
    if verb == "create":
        assert http.post(f"/v1/table/{table}/exists", json={}).status_code == 404
    else:
        assert versions(http, table) == [1]


def test_a_caller_that_does_not_take_its_answer_is_cut_off(server: Running, http: httpx.Client):
    query = huge_query(http)
    with connection(server) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(query)
        until(lambda: under_way(server), bool)
        idle(http)
        logged = until(lambda: queries(server), bool)

    assert logged[-1]["error"] == "INVALID_INPUT"  # Too slow, after 200 was said.


def test_a_caller_that_takes_a_large_batch_steadily_gets_it_all(server: Running, http: httpx.Client):
    """However long that takes: only who takes nothing is cut off."""
    vectors = pa.FixedSizeListArray.from_arrays(np.zeros(3000 * 1024, np.float32), 1024)
    body = stream(pa.table({"vector": vectors}))
    assert http.post("/v1/table/wide/create", content=body, headers=ARROW).status_code == 200
    query = b'{"k": 1000000, "vector": {}}'
    with connection(server) as steady:
        steady.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 100_000)
        steady.sendall(head("/v1/table/wide/query", f"content-length: {len(query)}") + query)
        end = b""
        while part := steady.recv(100_000):
            end = (end + part)[-7:]
            if end == b"\r\n0\r\n\r\n":
                break
            time.sleep(len(part) / 3_000_000)

    assert end == b"\r\n0\r\n\r\n"


@pytest.mark.parametrize("last", [b"", b"connection: close\r\n"], ids=["kept alive", "closed"])
def test_a_caller_that_takes_no_page_is_cut_off(tmp_path: Path, last: bytes):
    """Without a credential: it must not keep its connection, nor the server from stopping."""
    keys = {"LANCESPACE_SERVER_API_KEYS": "somebody:1"}
    with (
        served(tmp_path, "memory", *HASTY, "--max-connections", "3", environment=keys) as server,
        ExitStack() as opened,
    ):
        for _ in range(3):
            greedy = opened.enter_context(socket.socket())
            greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            greedy.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
            page = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n"
            greedy.sendall((page + b"\r\n") * 60 + page + last + b"\r\n")

        assert until(lambda: _status(server), lambda status: status == 200)


def _status(server: Running) -> int:
    try:
        with client(server) as http:
            return http.get("/healthz").status_code
    except httpx.TransportError:
        return 0


def test_a_connection_that_never_speaks_tls_is_closed(tmp_path: Path):
    certificate, key = Authority(tmp_path).issue("server")
    tls = ["--tls-certificate", certificate, "--tls-key", key, "--header-timeout", "1"]
    with served(tmp_path, "memory", *tls) as server, connection(server) as silent:
        silent.settimeout(20)
        assert silent.recv(1) == b""


def test_slow_streams_leave_others_their_threads(tmp_path: Path):
    limits = ["--concurrency", "2", "--buffer-bytes", "100000"]
    with (
        served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", *limits) as server,
        client(server) as http,
        connection(server) as reader,
        connection(server) as writer,
    ):
        fill(http, "t")
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(huge_query(http))
        writer.sendall(upload_head("t", "insert") + chunk(BIG[:150_000]))
        until(lambda: "lancespace_requests_under_way 2.0" in http.get("/metrics").text, bool)

        assert http.post("/v1/table/t/count_rows", json={}, timeout=10).json() == COUNT

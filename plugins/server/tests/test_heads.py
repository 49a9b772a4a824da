"""What is a header and what is not: nothing that comes after a body, and one host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from lancespace_server.pace import TRUST
from lancespace_server.protocol import MAX_HEAD_BYTES
from lancespace_testing.waiting import until
from plugins.server.tests.callers import connection, head, received
from plugins.server.tests.hosting import Running, client, served

KEY = "a-key"
EXISTS = "/v1/namespace/%24/exists"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("heads")
    with served(folder, "memory", environment={"LANCESPACE_SERVER_API_KEYS": f"somebody:{KEY}"}) as running:
        with client(running, headers={"x-api-key": KEY}) as http:
            for _ in range(2 * TRUST):  # From now on it is answered at once.
                assert http.post(EXISTS, json={}).status_code == 200
        yield running


def chunked(*lines: str) -> bytes:
    return head(EXISTS, "content-type: application/json", "transfer-encoding: chunked", *lines) + b"2\r\n{}\r\n0\r\n"


@pytest.mark.parametrize("lines", [(), ("x-api-key: wrong",)], ids=["none", "a wrong one"])
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_a_credential_after_the_body_is_none(server: Running, lines: tuple[str, ...], apart: bool):
    with connection(server) as caller:
        caller.sendall(chunked(*lines) + (b"" if apart else f"x-api-key: {KEY}\r\n\r\n".encode()))
        answer = caller.recv(1000)

    assert answer.startswith(b"HTTP/1.1 401 ")


def test_a_trailer_does_no_harm(server: Running):
    with connection(server) as caller:
        for _ in range(2):
            caller.sendall(chunked(f"x-api-key: {KEY}") + b"x-sum: 1\r\n\r\n")
            assert caller.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("line", [b"x: yyy\r\n", b"y" * 1000], ids=["many", "one"])
def test_what_follows_a_body_is_limited(server: Running, line: bytes):
    before = server.lines().count('"status":431')
    body = chunked(f"x-api-key: {KEY}").replace(EXISTS.encode(), b"/v1/namespace/trailers/create")
    with connection(server) as caller:
        caller.sendall(body + b"x: ")
        with suppress(OSError):  # It hangs up in the middle.
            for _ in range(10 * MAX_HEAD_BYTES // len(line)):
                caller.sendall(line)

        until(lambda: server.lines().count('"status":431'), lambda count: count == before + 1)


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "elsewhere"]], ids=len)
@pytest.mark.parametrize("path", [EXISTS, "/healthz"])
def test_there_is_one_host(server: Running, path: str, hosts: list[str]):
    lines = [f"GET {path} HTTP/1.1", *(f"host: {host}" for host in hosts), f"x-api-key: {KEY}", "", ""]
    with connection(server) as caller:
        caller.sendall("\r\n".join(lines).encode())
        answer = received(caller)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert f"The request has {len(hosts)} Host headers: send one.".encode() in answer


def test_http_1_0_needs_no_host(server: Running):
    with connection(server) as caller:
        caller.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert received(caller).startswith(b"HTTP/1.1 200 ")

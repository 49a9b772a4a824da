"""How a connection is used: several requests at once, bodies in parts, and when it ends."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from plugins.server.tests.hosting import Running, served

BODY = b'{"properties": {}}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("server")
    with served(folder, "dir", f"root={folder / 'catalog'}") as running:
        yield running


@pytest.fixture
def connection(server: Running) -> Iterator[socket.socket]:
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port or 80), timeout=30) as opened:
        yield opened


def request(path: str, *more: bytes, body: bytes = BODY) -> bytes:
    lines = [f"POST {path} HTTP/1.1".encode(), b"host: localhost", b"content-length: %d" % len(body), *more]
    return b"\r\n".join([*lines, b"", body])


def answers(connection: socket.socket, count: int) -> list[tuple[int, bytes, bytes]]:
    """So many answers: status, head and body of each."""
    found: list[tuple[int, bytes, bytes]] = []
    received = b""
    while len(found) < count:
        head, end, rest = received.partition(b"\r\n\r\n")
        length = int(re.findall(rb"content-length: (\d+)", head)[0]) if end else 0
        if end and len(rest) >= length:
            found.append((int(head.split()[1]), head, rest[:length]))
            received = rest[length:]
            continue
        part = connection.recv(1 << 16)
        assert part, f"closed after {len(found)} of {count} answers"
        received += part
    assert not received
    return found


def test_requests_that_do_not_wait_are_answered_in_their_order(connection: socket.socket):
    names = [f"pipelined{number}" for number in range(5)]
    sent = [request(f"/v1/namespace/{name}/create") for name in names]
    sent += [request(f"/v1/namespace/{name}/exists", body=b"{}") for name in [*names, "nobody"]]
    connection.sendall(b"".join(sent))

    statuses = [status for status, _, _ in answers(connection, len(sent))]

    assert statuses == [200] * 10 + [404]
    connection.sendall(request("/v1/namespace/pipelined0/describe", body=b"{}"))
    assert answers(connection, 1)[0][0] == 200


def test_a_body_may_come_in_parts(connection: socket.socket):
    whole = request("/v1/namespace/parted/create", body=b'{"properties": {"a": "b"}}')
    for start in range(0, len(whole), 40):
        connection.sendall(whole[start : start + 40])
    assert answers(connection, 1)[0][0] == 200

    connection.sendall(request("/v1/namespace/parted/describe", body=b"{}"))
    assert json.loads(answers(connection, 1)[0][2])["properties"] == {"a": "b"}


def test_a_caller_that_wants_the_connection_closed_is_obeyed(connection: socket.socket):
    connection.sendall(request("/v1/namespace/last/create", b"connection: close"))

    ((status, head, _),) = answers(connection, 1)

    assert (status, b"connection: close" in head) == (200, True)
    assert connection.recv(1) == b""


def test_heads_are_complete(connection: socket.socket):
    connection.sendall(request("/v1/namespace/heads/create", b"x-request-id: mine"))

    ((_, head, body),) = answers(connection, 1)

    names = [line.partition(b":")[0] for line in head.split(b"\r\n")[1:]]
    assert len(names) == len(set(names))
    assert {b"date", b"x-content-type-options", b"cache-control", b"content-security-policy"} <= set(names)
    assert b"\r\nx-request-id: mine" in head
    assert b"\r\ncontent-type: application/json" in head
    assert json.loads(body) == {"properties": {}}

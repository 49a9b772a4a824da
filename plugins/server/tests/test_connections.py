"""How a connection is used: several requests at once, bodies in parts, and when it ends."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from lancespace_server import ServerSettings
from lancespace_server.pace import TRUST
from lancespace_server.protocol import GuardedProtocol
from lancespace_server.request import Answer, Request
from lancespace_testing.samples import sample, stream
from plugins.server.tests.callers import ARROW
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


@pytest.mark.parametrize("packet", [7919, 100_003, 1 << 20], ids=str)
def test_chunks_and_packets_need_not_meet(connection: socket.socket, packet: int):
    table = pa.table({"a": np.arange(200_000), "b": [f"row {number}" for number in range(200_000)]})
    data = stream(table)
    sizes = itertools.cycle([1, 70_000, 3, 300_000, 8192])
    chunks: list[bytes] = []
    start = 0
    while start < len(data):
        chunks.append(data[start : start + next(sizes)])
        start += len(chunks[-1])
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])
    head = [f"POST /v1/table/chunks{packet}/create HTTP/1.1".encode(), b"host: localhost"]
    head += [b"%b: %b" % (name.encode(), value.encode()) for name, value in ARROW.items()]
    whole = b"\r\n".join([*head, b"transfer-encoding: chunked", b"", body])

    for start in range(0, len(whole), packet):
        connection.sendall(whole[start : start + packet])
    assert answers(connection, 1)[0][0] == 200

    connection.sendall(
        request(f"/v1/table/chunks{packet}/query", b"connection: close", body=b'{"k": 1000000, "vector": {}}')
    )
    answer = http.client.HTTPResponse(connection, method="POST")
    answer.begin()
    assert pa.ipc.open_file(pa.py_buffer(answer.read())).read_all() == table


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


class Counting:
    """An application that answers everything, at once or not."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def at_once(self, request: Request, _: bytes) -> Answer:
        self.asked.append(request.path)
        return Answer(200, [(b"content-length", b"0")], b"")

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def quick(connection: socket.socket) -> socket.socket:
    """A connection on which ``namespace_exists`` is answered at once."""
    connection.sendall(request("/v1/namespace/quick/create?mode=EXIST_OK"))
    answers(connection, 1)
    for _ in range(2 * TRUST):
        connection.sendall(EXISTS)
        assert answers(connection, 1)[0][0] == 200
    return connection


EXISTS = request("/v1/namespace/quick/exists", body=b"{}")
MISSING = request("/v1/namespace/missing/exists", body=b"{}")


def test_answers_at_once_wait_for_those_before_them(quick: socket.socket):
    sent = [EXISTS, request("/v1/namespace/new/create"), MISSING, EXISTS, request("/v1/namespace/new/drop"), EXISTS]

    quick.sendall(b"".join(sent) * 3)

    assert [status for status, _, _ in answers(quick, 18)] == [200, 200, 404, 200, 200, 200] * 3


def test_an_answer_at_once_does_not_overtake_one_that_takes_longer(quick: socket.socket):
    arrow = f"content-type: {ARROW['content-type']}".encode()
    fast = EXISTS.replace(b"host:", b"x-request-id: fast\r\nhost:")
    quick.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in range(5):
        slow = request(f"/v1/table/slow{number}/create", b"x-request-id: slow", arrow, body=stream(sample()))
        quick.sendall(slow)
        quick.sendall(fast)
        heads = [head for _, head, _ in answers(quick, 2)]
        assert [re.findall(rb"x-request-id: (\w+)", head) for head in heads] == [[b"slow"], [b"fast"]]


@asynccontextmanager
async def talking(app: Any) -> AsyncIterator[socket.socket]:
    """The other end of a connection to an application."""
    factory: Any = SimpleNamespace(settings=ServerSettings())
    config = Config(factory, http=GuardedProtocol, ws="none", log_config=None)
    config.load()
    config.loaded_app = app
    ours, theirs = socket.socketpair()
    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
        lambda: GuardedProtocol(config=config, server_state=ServerState(), app_state={}), ours
    )
    with theirs:
        yield theirs
        transport.close()


def test_of_requests_that_come_together_only_the_first_is_answered_at_once():
    """Lest one caller that sends thousands holds up all others."""
    app = Counting()

    async def converse() -> int:
        async with talking(app) as theirs:
            theirs.sendall(b"".join(request(f"/v1/{number}", body=b"") for number in range(5)))
            return len(await asyncio.to_thread(answers, theirs, 5))

    assert asyncio.run(converse()) == 5
    assert app.asked == ["/v1/0"]


def test_a_caller_is_not_read_from_while_nobody_takes_its_body():
    body = bytes(50_000_000)
    taken: list[int] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001 - ASGI's arguments
        await let.wait()
        while (message := await receive())["type"] == "http.request":
            taken.append(len(message["body"]))
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def converse() -> int:
        async with talking(application) as theirs:
            sending = asyncio.create_task(asyncio.to_thread(theirs.sendall, request("/v1/large", body=body)))
            done, _ = await asyncio.wait([sending], timeout=0.5)
            let.set()
            await sending
            await asyncio.to_thread(answers, theirs, 1)
            return len(done)

    let = asyncio.Event()
    assert asyncio.run(converse()) == 0, "all was taken from the caller, and kept in memory"
    assert sum(taken) == len(body)


def test_the_rest_of_a_body_that_is_not_wanted_is_dropped(connection: socket.socket):
    refused = request("/v1/table/refused/create", b"content-type: text/plain", body=bytes(5_000_000))
    connection.sendall(refused + request("/v1/namespace/afterwards/create"))

    assert [status for status, _, _ in answers(connection, 2)] == [415, 200]


def test_an_answer_at_once_has_all_of_a_body_that_comes_in_parts(quick: socket.socket):
    for start in range(0, len(EXISTS), 10):
        quick.sendall(EXISTS[start : start + 10])
    assert answers(quick, 1)[0][0] == 200

    wrong = request("/v1/namespace/quick/exists", b"transfer-encoding: chunked", body=b"").replace(
        b"content-length: 0\r\n", b""
    )
    quick.sendall(wrong + b'8\r\n{"id": [\r\n')
    quick.sendall(b'9\r\n"other"]}\r\n0\r\n\r\n')
    ((status, _, body),) = answers(quick, 1)
    assert (status, "the URL says ['quick']" in json.loads(body)["error"]) == (400, True)


@pytest.mark.parametrize(("version", "line"), [(b"HTTP/1.1", b"connection: close\r\n"), (b"HTTP/1.0", b"")])
def test_a_connection_ends_after_an_answer_at_once_that_was_to_be_the_last(
    quick: socket.socket, version: bytes, line: bytes
):
    quick.sendall(EXISTS.replace(b"HTTP/1.1\r\n", version + b"\r\n" + line))

    ((status, head, _),) = answers(quick, 1)

    assert (status, b"\r\nconnection: close" in head) == (200, True)
    assert quick.recv(1) == b""


def test_an_interim_answer_is_sent_to_whoever_waits_for_it(quick: socket.socket):
    quick.sendall(EXISTS.removesuffix(b"{}").replace(b"\r\n\r\n", b"\r\nexpect: 100-continue\r\n\r\n"))
    assert quick.recv(1 << 16).startswith(b"HTTP/1.1 100 ")

    quick.sendall(b"{}")
    assert answers(quick, 1)[0][0] == 200


def test_what_is_not_http_after_an_answer_at_once_is_refused(quick: socket.socket):
    quick.sendall(EXISTS + b"nonsense\r\n\r\n")

    assert [status for status, _, _ in answers(quick, 2)] == [200, 400]
    assert quick.recv(1) == b""

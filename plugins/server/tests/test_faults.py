"""Callers that are slow, greedy or gone: others are unharmed, and nothing is half-written."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import pytest

from lancespace.testing.samples import COUNT, sample, stream
from lancespace.testing.waiting import until
from plugins.server.tests.callers import (
    ARROW,
    BIG,
    FIRST_BATCHES,
    chunk,
    connection,
    head,
    received,
    under_way,
    upload_head,
)
from plugins.server.tests.hosting import Running, client, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("faults")
    slow = [
        "--header-timeout",
        "1",
        "--idle-timeout",
        "1",
        "--buffer-bytes",
        "1000000",
        "--spool-directory",
        str(folder),
    ]
    with served(folder, "dir", f"root={folder / 'catalog'}", *slow, "--max-connections", "50") as running:
        yield running


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with client(server) as opened:
        yield opened


def fill(http: httpx.Client, table: str) -> None:
    assert http.post(f"/v1/table/{table}/create", content=stream(sample()), headers=ARROW).status_code == 200


def versions(http: httpx.Client, table: str) -> list[int]:
    return [each["version"] for each in http.post(f"/v1/table/{table}/version/list").json()["versions"]]


def idle(http: httpx.Client) -> None:
    """Wait until the server has nothing under way."""
    until(lambda: "lancespace_requests_under_way 0.0" in http.get("/metrics").text, bool)


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


def test_an_endless_head_is_refused(server: Running, http: httpx.Client):
    with connection(server) as endless:
        endless.sendall(b"GET /v1/table HTTP/1.1\r\n" + b"x: " + b"y" * 80_000)
        answer = received(endless)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert http.get("/healthz").status_code == 200


def test_what_is_not_http_is_a_json_400(server: Running):
    with connection(server) as odd:
        odd.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20)
        answer = received(odd)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":13' in answer


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


@pytest.mark.parametrize(
    ("size", "abruptly"), [(100, True), (700_000, True), (4_000_000, True), (FIRST_BATCHES, False)]
)
@pytest.mark.parametrize("verb", ["create", "insert", "insert?mode=overwrite", "merge_insert?on=id"])
def test_a_caller_that_goes_away_leaves_nothing_behind(
    server: Running, http: httpx.Client, verb: str, size: int, abruptly: bool
):
    table = f"gone_{size}_" + "".join(filter(str.isalpha, verb))
    if verb != "create":
        fill(http, table)
    with connection(server) as gone:
        gone.sendall(upload_head(table, verb) + chunk(BIG[:size]))
        if abruptly:  # With a reset, which may overtake what was sent.
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    idle(http)
    if verb == "create":
        assert http.post(f"/v1/table/{table}/exists", json={}).status_code == 404
    else:
        assert versions(http, table) == [1]
        assert http.post(f"/v1/table/{table}/count_rows", json={}).json() == COUNT


def test_a_body_that_waits_for_its_end_waits_on_disk(server: Running, http: httpx.Client):
    folder = server.log.parent
    with connection(server) as sending:
        sending.sendall(upload_head("spooled", "create") + chunk(BIG[:4_000_000]))
        until(lambda: [path.stat().st_size for path in folder.glob("lancespace-*")], bool)

    idle(http)
    assert not list(folder.glob("lancespace-*"))


@pytest.fixture(scope="module")
def huge(server: Running) -> bytes:
    """A query whose answer does not fit into any buffer on its way."""
    with client(server) as http:
        assert http.post("/v1/table/huge/create", content=BIG, headers=ARROW).status_code == 200
    body = b'{"k": 1000000, "vector": {}}'
    return head("/v1/table/huge/query", f"content-length: {len(body)}") + body


def test_a_caller_that_does_not_take_its_answer_is_cut_off(server: Running, http: httpx.Client, huge: bytes):
    with connection(server) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(huge)
        until(lambda: under_way(server), bool)
        idle(http)
        logged = until(lambda: queries(server), bool)

    assert logged[-1]["error"] == "INVALID_INPUT"  # Too slow, after 200 was said.


def test_a_caller_that_leaves_in_the_middle_of_its_answer_holds_nothing(
    server: Running, http: httpx.Client, huge: bytes
):
    before = len(queries(server))
    with connection(server) as gone:
        gone.sendall(huge)
        assert gone.recv(1000).startswith(b"HTTP/1.1 200 ")

    idle(http)
    (logged,) = until(lambda: queries(server)[before:], bool)
    assert logged["sent"] < len(BIG)


def queries(server: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.lines().splitlines() if '"query_table"' in line]


def test_an_operation_that_takes_too_long_is_answered_and_leaves_nothing(tmp_path: Path):
    limits = ["--request-timeout", "0.5", "--buffer-bytes", "1000000"]
    with served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", *limits) as server, client(server) as http:
        fill(http, "late")
        with connection(server) as waiting:
            waiting.sendall(upload_head("late", "insert") + chunk(BIG[:2_000_000]))
            answer = HTTPResponse(waiting)
            answer.begin()
            said = answer.read()
        idle(http)

        assert answer.status == 504
        assert b"The operation takes longer than 0.5 s" in said
        assert versions(http, "late") == [1]


def test_there_is_room_for_so_many_connections(server: Running, http: httpx.Client):
    opened = [socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) for _ in range(55)]
    try:
        answers = [each for each in opened if _refused(each)]
    finally:
        for each in opened:
            each.close()

    assert answers
    assert until(lambda: _status(http), lambda status: status == 200) == 200


def _refused(opened: socket.socket) -> bool:
    opened.settimeout(0.05)
    try:
        return opened.recv(1000).startswith(b"HTTP/1.1 503 ")
    except TimeoutError:
        return False


def _status(http: httpx.Client) -> int:
    try:
        return http.get("/v1/table").status_code
    except httpx.TransportError:
        return 0


def test_a_full_server_says_when_to_come_back(tmp_path: Path):
    keys = {"LANCESPACE_SERVER_API_KEYS": "greedy:1,modest:2,late:3"}
    limits = ["--concurrency", "2", "--max-waiting", "0", "--max-per-principal", "1"]
    with served(tmp_path, "memory", *limits, environment=keys) as server, client(server) as http:
        with connection(server) as greedy, connection(server) as modest:
            greedy.sendall(begun("1"))
            own = until(lambda: listing(http, "1"), lambda answer: answer.status_code != 200)
            others = listing(http, "2")
            modest.sendall(begun("2"))
            full = until(lambda: listing(http, "3"), lambda answer: answer.status_code != 200)
            alive = http.get("/healthz")

        assert (own.status_code, own.json()["code"], own.headers["retry-after"]) == (429, 21, "1")
        assert (others.status_code, alive.status_code) == (200, 200)
        assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (503, 17, "1")
        until(lambda: listing(http, "3").status_code, lambda status: status == 200)


def begun(key: str) -> bytes:
    """The beginning of a body that takes its time."""
    lines = [f"content-type: {ARROW['content-type']}", "transfer-encoding: chunked", f"x-api-key: {key}"]
    return head("/v1/table/waiting/create", *lines) + chunk(BIG[:100])


def listing(http: httpx.Client, key: str) -> httpx.Response:
    return http.get("/v1/table", headers={"x-api-key": key})

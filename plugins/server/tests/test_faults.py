"""Callers that are slow, greedy or gone: others are unharmed, and nothing is half-written."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

import httpx
import pytest

from lancespace_testing.samples import COUNT, sample, stream
from lancespace_testing.waiting import until
from plugins.server.tests.callers import (
    ARROW,
    BIG,
    FIRST_BATCHES,
    chunk,
    connection,
    fill,
    head,
    huge_query,
    idle,
    queries,
    received,
    upload_head,
    versions,
)
from plugins.server.tests.hosting import Running, client, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("faults")
    limits = ["--buffer-bytes", "1000000", "--spool-directory", str(folder), "--max-connections", "50"]
    with served(folder, "dir", f"root={folder / 'catalog'}", *limits) as running:
        yield running


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with client(server) as opened:
        yield opened


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


def test_a_body_that_waits_for_its_end_waits_on_disk_without_a_name(server: Running, http: httpx.Client):
    """So nothing of it is left when the process is killed."""
    folder = server.log.parent
    with connection(server) as sending:
        sending.sendall(upload_head("spooled", "create") + chunk(BIG[:4_000_000]))
        until(lambda: spooled(server), bool)
        assert {path.name for path in folder.iterdir()} <= {server.log.name, "catalog"}

    idle(http)
    assert not spooled(server)


def spooled(server: Running) -> list[Path]:
    """The files without a name that the worker has in the server's folder."""
    (worker,) = server.workers()
    opened = Path(f"/proc/{worker}/fd").iterdir()
    return [path for path in opened if str(server.log.parent) in str(target := _target(path)) and "(deleted)" in target]


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:  # Closed since.
        return ""


def test_a_caller_that_leaves_in_the_middle_of_its_answer_ends_its_query(server: Running, http: httpx.Client):
    query = huge_query(http)
    before = len(queries(server))
    with connection(server) as gone:
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        gone.sendall(query)
        assert gone.recv(1000).startswith(b"HTTP/1.1 200 ")

    idle(http)
    (logged,) = until(lambda: queries(server)[before:], bool)
    assert logged["status"] == 499
    assert logged["sent"] < len(BIG) // 2


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
    keys = {"LANCESPACE_SERVER_API_KEYS": f"greedy:{GREEDY},modest:{MODEST},late:{LATE}"}
    limits = ["--concurrency", "2", "--max-waiting", "0", "--max-per-principal", "1"]
    with served(tmp_path, "memory", *limits, environment=keys) as server, client(server) as http:
        with connection(server) as greedy, connection(server) as modest:
            greedy.sendall(begun(GREEDY))
            own = until(lambda: listing(http, GREEDY), lambda answer: answer.status_code != 200)
            others = listing(http, MODEST)
            modest.sendall(begun(MODEST))
            full = until(lambda: created(http, LATE), lambda answer: answer.status_code == 503)
            still = listing(http, LATE)

        assert (own.status_code, own.json()["code"], own.headers["retry-after"]) == (429, 21, "1")
        assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (503, 17, "1")
        assert (others.status_code, still.status_code) == (200, 200)  # What streams no data has places of its own.
        until(lambda: created(http, LATE).status_code, lambda status: status == 200)


GREEDY, MODEST, LATE = "greedy-key", "modest-key", "late-key"


def begun(key: str) -> bytes:
    """The beginning of a body that takes its time."""
    lines = [f"content-type: {ARROW['content-type']}", "transfer-encoding: chunked", f"x-api-key: {key}"]
    return head("/v1/table/waiting/create", *lines) + chunk(BIG[:100])


def created(http: httpx.Client, key: str) -> httpx.Response:
    headers = {**ARROW, "x-api-key": key}
    return http.post("/v1/table/made/create?mode=overwrite", content=stream(sample()), headers=headers)


def listing(http: httpx.Client, key: str) -> httpx.Response:
    return http.get("/v1/table", headers={"x-api-key": key})

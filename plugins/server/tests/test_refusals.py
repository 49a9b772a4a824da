"""Refusals are the same whatever the size of a body, and however it comes."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator

import httpx
import numpy as np
import pyarrow as pa
import pytest

from lancespace_testing.samples import sample, stream
from lancespace_testing.waiting import until
from plugins.server.tests.callers import ARROW, chunk, connection, head
from plugins.server.tests.hosting import Running, client, served

BUFFER = 100_000
LIMIT = 2_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("refusals")
    limits = ["--buffer-bytes", str(BUFFER), "--max-batch-bytes", str(LIMIT), "--max-data-bytes", "60000000"]
    with served(folder, "dir", f"root={folder / 'catalog'}", *limits) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Running) -> Iterator[httpx.Client]:
    with client(server) as opened:
        for name, table in (("t", sample()), ("numbers", numbers(1))):
            answer = opened.post(f"/v1/table/{name}/create", content=stream(table), headers=ARROW)
            assert answer.status_code == 200, answer.text
        yield opened


def numbers(count: int) -> pa.Table:
    return pa.table({"a": np.arange(count)})


def batch_stream(table: pa.Table, compression: str | None = None) -> bytes:
    """All rows in one batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for batch in table.combine_chunks().to_batches():
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


SMALL, LARGE = stream(numbers(1000)), stream(numbers(4_000_000), batch_rows=100_000)
assert len(SMALL) < BUFFER < len(LARGE)


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ("missing/insert", 404),
        ("missing/merge_insert?on=a&when_not_matched_insert_all=true", 404),
        ("t/insert", 400),
        ("t/insert?branch=nope", 404),
        ("t/insert?mode=nonsense", 400),
        ("t/merge_insert?on=nope", 400),
        ("t/create", 409),
        ("no%24such%24place/create", 404),
    ],
)
def test_a_large_body_is_refused_as_a_small_one(http: httpx.Client, call: str, status: int):
    small, large = (http.post(f"/v1/table/{call}", content=body, headers=ARROW) for body in (SMALL, LARGE))

    assert (small.status_code, large.status_code) == (status, status), large.text
    assert [large.json()[key] for key in ("error", "code")] == [small.json()[key] for key in ("error", "code")]


@pytest.mark.parametrize("verb", ["insert", "merge_insert?on=a&when_not_matched_insert_all=true", "create"])
@pytest.mark.parametrize("broken", [LARGE[: len(LARGE) // 2], LARGE[:-9] + b"\xff" * 30], ids=["cut", "odd end"])
def test_a_large_body_that_is_not_sound(http: httpx.Client, verb: str, broken: bytes):
    table = "numbers" if verb != "create" else "broken"
    answer = http.post(f"/v1/table/{table}/{verb}", content=broken, headers=ARROW)

    assert (answer.status_code, answer.json()["code"]) == (400, 13), answer.text
    assert "not a sound Arrow IPC stream" in answer.json()["error"]


WRITES = ["insert", "merge_insert?on=a&when_not_matched_insert_all=true", "create?mode=overwrite"]


@pytest.mark.parametrize("verb", WRITES)
def test_batches_up_to_the_limit_are_taken(http: httpx.Client, verb: str):
    for body in (SMALL, batch_stream(numbers(LIMIT // 8 - 100)), batch_stream(numbers(LIMIT // 8 - 100), "zstd")):
        assert http.post(f"/v1/table/numbers/{verb}", content=body, headers=ARROW).status_code == 200


LARGE_BATCHES = {
    "large": batch_stream(numbers(LIMIT // 8 + 1)),
    "compressed": batch_stream(pa.table({"a": np.zeros(5_000_000, np.int64)}), "zstd"),
    "compressed by lz4": batch_stream(pa.table({"a": np.zeros(5_000_000, np.int64)}), "lz4"),
    "nulls": batch_stream(pa.table({"a": pa.nulls(10**9)})),
    "lists of nulls": batch_stream(
        pa.table({"a": pa.ListArray.from_arrays(pa.array([0, 10**9], pa.int32()), pa.nulls(10**9))})
    ),
    "a dictionary": batch_stream(
        pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["x" * (LIMIT + 1)]))})
    ),
}


OF_OTHER_TYPES = {"nulls", "lists of nulls", "a dictionary"}
"""A merge may find that before it reads."""


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        (verb, kind)
        for verb in WRITES
        for kind in LARGE_BATCHES
        if not (verb.startswith("merge") and kind in OF_OTHER_TYPES)
    ],
)
def test_batches_beyond_the_limit_are_refused(http: httpx.Client, verb: str, kind: str):
    """Some are small before they are unpacked: it must be seen before anybody does that."""
    started = time.monotonic()
    table = "numbers" if verb != "create?mode=overwrite" else "fresh"
    answer = http.post(f"/v1/table/{table}/{verb}", content=LARGE_BATCHES[kind], headers=ARROW)

    assert answer.status_code == 413, answer.text
    assert "'max_batch_bytes'" in answer.json()["error"]
    assert time.monotonic() - started < 10


def test_a_body_beyond_the_limit_is_refused(http: httpx.Client):
    def parts() -> Iterator[bytes]:
        while True:
            yield bytes(1_000_000)

    body = (part for source in ([LARGE], [LARGE], parts()) for part in source)
    answer = http.post("/v1/table/t/create", content=body, headers=ARROW)

    assert (answer.status_code, "'max_data_bytes'" in answer.text) == (413, True)


def test_a_body_in_tiny_parts_holds_nobody_up(server: Running, http: httpx.Client):
    """Each part used to be added to all before it."""
    large = 4_000_000
    with connection(server) as caller:
        lines = ["content-type: application/json", "transfer-encoding: chunked"]
        caller.sendall(head("/v1/namespace/tiny/create", *lines) + chunk(b" " * large))
        started = time.monotonic()
        caller.sendall(chunk(b" ") * 3000 + chunk(b"{}") + b"0\r\n\r\n")
        assert http.get("/healthz").status_code == 200
        answer = caller.recv(1000)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert time.monotonic() - started < 5


def test_tiny_parts_of_data_arrive_in_order(server: Running, http: httpx.Client):
    data = stream(numbers(2000))
    with connection(server) as caller:
        lines = [f"content-type: {ARROW['content-type']}", "transfer-encoding: chunked"]
        tiny = b"".join(chunk(data[start : start + 3]) for start in range(0, len(data), 3))
        caller.sendall(head("/v1/table/parts/create", *lines) + tiny + b"0\r\n\r\n")
        assert caller.recv(1000).startswith(b"HTTP/1.1 200 ")

    assert http.post("/v1/table/parts/count_rows", json={}).json() == 2000


def test_what_is_refused_before_it_is_a_request_is_logged(server: Running):
    with connection(server) as odd:
        odd.sendall(b"GET / HTTP/1.1\r\nhost: a\r\nx-request-id: odd-one\r\nx: y\r\nno header\r\n\r\n")
        answer = odd.recv(10_000)

    assert answer.startswith(b"HTTP/1.1 400 ")
    for line in (b"x-content-type-options: nosniff", b"x-request-id: odd-one", b"connection: close", b"date: "):
        assert answer.count(line) == 1
    (found,) = until(lambda: [text for text in server.lines().splitlines() if '"odd-one"' in text], bool)
    logged = json.loads(found)
    assert (logged["status"], logged["error"], logged["remote"]) == (400, "INVALID_INPUT", "127.0.0.1")


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "gzip, identity", "zstd"])
@pytest.mark.parametrize("action", ["insert", "exists", "query"])
def test_compressed_bodies_are_refused(http: httpx.Client, action: str, encoding: str):
    is_data = action == "insert"
    headers = {**(ARROW if is_data else {"content-type": "application/json"}), "content-encoding": encoding}
    packed = gzip.compress(stream(sample()) if is_data else b"{}")
    for _ in range(2):  # The second may be answered without a thread.
        answer = http.post(f"/v1/table/t/{action}", content=packed, headers=headers)
        assert answer.status_code == 415, answer.text
        assert encoding in answer.json()["error"]
        assert answer.headers["accept-encoding"] == "identity"


def test_a_compressed_transfer_is_refused(server: Running):
    with connection(server) as odd:
        odd.sendall(head("/v1/table/t/exists", "transfer-encoding: gzip, chunked") + chunk(b"{}") + chunk(b""))
        assert odd.recv(10_000).startswith(b"HTTP/1.1 415 ")


@pytest.mark.parametrize("name", ["content-encoding", "idempotency-key"])
def test_headers_that_say_two_things_are_refused(http: httpx.Client, name: str):
    """Otherwise one of them would be ignored, "br" perhaps."""
    headers = [("content-type", "application/json"), (name, "br"), (name, "identity")]
    answer = http.post("/v1/table/t/exists", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, 13), answer.text


def test_a_body_without_encoding_may_say_so(http: httpx.Client):
    headers = {"content-type": "application/json", "content-encoding": "Identity"}
    assert http.post("/v1/table/t/exists", content=b"{}", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"h", b"hello", b"not Arrow data at all", b"\xff\xff\xff\xff\x7f", b"\xff" * 5, b"\x00\x00\x00\x7f"),
        *(b"\xff\xff\xff\xffzzzz", b"\xff\xff\xff\xff\xff\xff\xff\x7f more"),
    ],
)
@pytest.mark.parametrize("action", ["create", "insert", "merge_insert?on=id"])
def test_a_body_that_is_no_arrow_is_the_mistake_of_the_caller(http: httpx.Client, action: str, body: bytes):
    answer = http.post(f"/v1/table/t/{action}", content=body, headers=ARROW)
    assert (answer.status_code, answer.json()["code"]) == (400, 13), answer.text

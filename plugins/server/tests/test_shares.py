"""What one caller has under way leaves threads, memory and time for the others."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import lance
import pyarrow as pa
import pytest

from lancespace_server import ServerSettings
from lancespace_server.failures import Failure
from lancespace_server.pool import Pool
from lancespace_server.threads import Threads
from lancespace_testing.waiting import until
from plugins.server.tests.callers import ARROW, chunk, connection, head
from plugins.server.tests.hosting import Running, client, served

ALICE, BOB = {"x-api-key": "a" * 32}, {"x-api-key": "b" * 32}
SLOW = {"predicate": "levenshtein(s, reverse(s)) > 5000"}
"""Takes seconds in the table ``slow``, and cannot be stopped."""
ENDLESS = {"vector": {}, "k": 10**9, "filter": "levenshtein(s, reverse(s)) >= 0", "columns": {"column_names": ["id"]}}
"""Takes minutes in the table ``long``, and answers a kilobyte now and then."""
CONCURRENCY, SHARE, LIMIT = 4, 3, 40_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("shares")
    keys = folder / "keys"
    keys.write_text(
        "".join(f"{name}:{hashlib.sha256(name[0].encode() * 32).hexdigest()}\n" for name in ("alice", "bob"))
    )
    for name, rows, characters in (("slow", 250, 3000), ("long", 500_000, 500)):
        texts = pa.array(["ab" * (characters // 2)]).take(pa.array([0] * rows, pa.int32()))
        lance.write_dataset(pa.table({"id": [True] * rows, "s": texts}), folder / "catalog" / f"{name}.lance")
    times = ["--request-timeout", "1.5", "--shutdown-timeout", "1"]
    limits = ["--concurrency", str(CONCURRENCY), "--max-bytes-per-principal", str(LIMIT), "--buffer-bytes", "1000000"]
    arguments = ["--api-keys", str(keys), *times, *limits]
    with served(folder, "dir", f"root={folder / 'catalog'}", *arguments) as running:
        yield running


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server computes takes longer on a busy machine."""
    monkeypatch.setattr("lancespace_testing.waiting.PATIENCE", 80.0)


def under_way(server: Running) -> int:
    with client(server) as http:
        answer = http.get("/metrics", headers=BOB)
    assert answer.status_code == 200
    found = [line for line in answer.text.splitlines() if line.startswith("lancespace_requests_under_way")]
    return int(float(found[0].split()[-1]))


def count(server: Running, table: str, body: dict[str, Any], headers: dict[str, str]) -> int:
    with client(server) as http:
        return http.post(f"/v1/table/{table}/count_rows", json=body, headers=headers).status_code


def test_a_caller_has_a_share_of_the_threads_and_keeps_it_until_its_operations_end(server):
    with ThreadPoolExecutor(2 * CONCURRENCY) as pool:
        slow = [pool.submit(count, server, "slow", SLOW, ALICE) for _ in range(2 * CONCURRENCY)]
        until(lambda: under_way(server), lambda number: number == 2 * CONCURRENCY)
        other = count(server, "slow", {}, BOB)
        assert not any(each.done() for each in slow)
        statuses = sorted(each.result() for each in slow)
    assert other == 200
    assert statuses == [503] * (2 * CONCURRENCY - SHARE) + [504] * SHARE  # Those that had no thread never begin.
    assert under_way(server) == SHARE
    until(lambda: under_way(server), lambda number: number == 0)


def test_a_query_that_takes_too_long_is_stopped_between_batches(server):
    with client(server) as http:
        answer = http.post("/v1/table/long/query", json=ENDLESS, headers=ALICE)
    assert (answer.status_code, answer.json()["code"]) == (504, 17)
    until(lambda: under_way(server), lambda number: number == 0)


def test_the_bodies_of_a_caller_have_a_size_together(server):
    texts = pa.array(["x" * 10_000]).take(pa.array([0] * 2500, pa.int32()))
    batch = pa.table({"id": [True] * len(texts), "s": texts})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch.to_batches()[0])
    body = sink.getvalue().to_pybytes()
    assert LIMIT / 2 < len(body) < LIMIT

    def insert(headers: dict[str, str]) -> httpx.Response:
        with client(server) as http:
            return http.post("/v1/table/long/insert", content=body, headers={**ARROW, **headers}, timeout=60)

    lines = [f"content-type: {ARROW['content-type']}", "transfer-encoding: chunked", f"x-api-key: {ALICE['x-api-key']}"]
    with connection(server) as first:
        first.sendall(head("/v1/table/long/insert", *lines) + chunk(body[: len(body) // 2]))
        refused = until(lambda: insert(ALICE), lambda answer: answer.status_code != 200)
        other = insert(BOB)
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (429, 21, "1")
    assert "record batches" in refused.json()["error"]
    assert other.status_code == 200
    until(lambda: insert(ALICE).status_code, lambda status: status == 200)


def test_a_job_beyond_the_share_of_its_caller_waits():
    async def talk() -> tuple[list[str], list[str]]:
        threads, go_on, done = Threads(3, share=2), threading.Event(), list[str]()
        greedy = [threads.start(lambda: go_on.wait(60), "greedy") for _ in range(4)]
        last = threads.start(lambda: done.append("last"), "greedy")
        unwanted = threads.start(lambda: done.append("unwanted"), "greedy")
        await threads.start(lambda: done.append("modest"), "modest").future
        before = list(done)
        assert unwanted.withdraw()
        go_on.set()
        await asyncio.gather(*(job.future for job in greedy), last.future)
        threads.close(60)
        return before, done

    assert asyncio.run(talk()) == (["modest"], ["modest", "last"])


def test_a_caller_leaves_places_to_others():
    pool = Pool(ServerSettings(concurrency=2, max_waiting=2, tls_client_ca="ca"))
    places = [pool.admit("greedy") for _ in range(3)]
    with pytest.raises(Failure) as caught:
        pool.admit("greedy")
    assert (caught.value.status, caught.value.headers) == (429, ((b"retry-after", b"1"),))
    pool.admit("modest").leave()
    for place in places:
        place.leave()
    pool.admit("greedy").leave()
    pool.close()


def test_a_request_alone_may_be_as_large_as_other_limits_allow():
    pool = Pool(ServerSettings(max_bytes_per_principal=10))
    large, small = pool.admit("p"), pool.admit("p")
    large.hold(100)
    with pytest.raises(Failure) as caught:
        small.hold(1)
    assert caught.value.status == 429
    pool.admit("q").hold(1)
    large.leave()
    small.hold(10)
    pool.close()

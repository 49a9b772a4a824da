"""One caller that asks for too much is told so; the others are served."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from lancespace_server import wire
from lancespace_server.failures import Failure
from lancespace_server.rates import Rates
from lancespace_testing.waiting import until
from plugins.server.tests.hosting import Running, catalog_url, client, served

STRANGERS = 5
ALICE, BOB = {"x-api-key": "a" * 32}, {"x-api-key": "b" * 32}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("fairness")
    keys = folder / "keys"
    keys.write_text(
        "".join(f"{name}:{hashlib.sha256(name[0].encode() * 32).hexdigest()}\n" for name in ("alice", "bob"))
    )
    limits = ["--max-rate-per-principal", "5", "--max-strangers-per-address", str(STRANGERS), "--workers", "1"]
    with served(folder, "dir", f"root={folder / 'catalog'}", "--api-keys", str(keys), *limits) as running:
        yield running


def test_a_caller_that_asks_too_often_is_told_when_to_come_back(server):
    with client(server) as http:
        answers = [http.get("/v1/namespace/$/list", headers=ALICE) for _ in range(60)]
        others = http.get("/v1/namespace/$/list", headers=BOB)
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert {answer.status_code for answer in answers} <= {200, 429}
    assert refused[0].json()["code"] == 21
    assert int(refused[0].headers["retry-after"]) >= 1
    assert others.status_code == 200


def test_an_address_has_few_connections_of_strangers(server):
    with ExitStack() as stack:
        with client(server) as http:
            known = http.get("/v1/namespace/$/list", headers=BOB)  # Its connection does not count any more.
            assert known.status_code == 200
            address = httpx.URL(server.url).host, httpx.URL(server.url).port or 0
            idle = [stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(STRANGERS + 1)]
            answer = idle[-1].recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1\r\n" in answer
            assert http.get("/v1/namespace/$/list", headers=BOB).status_code in {200, 429}
        stack.close()
    until(lambda: _status(server), lambda status: status in {200, 429})


def _status(server: Running) -> int:
    with client(server) as http:
        return http.get("/v1/namespace/$/list", headers=BOB).status_code


@pytest.mark.parametrize(
    "field", [[0] * 600_000, [[]] * 100_000, [{"a": []}] * 60_000], ids=["numbers", "lists", "objects"]
)
def test_json_that_takes_long_to_parse_is_refused(host, tmp_path: Path, field: list[object]):
    body = json.dumps({"more": field}).encode()
    assert len(body) > wire.LARGE_BYTES
    answer = httpx.post(f"{catalog_url(host, tmp_path)}/v1/table/t/exists", content=body, timeout=60, trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert "send less at a time" in answer.json()["error"]


def test_large_json_is_parsed_all_the_same(host, tmp_path: Path):
    body = json.dumps({"properties": {"text": "x" * (2 * wire.LARGE_BYTES)}}).encode()
    url = f"{catalog_url(host, tmp_path)}/v1/namespace/large"
    assert httpx.post(f"{url}/create", content=body, timeout=60, trust_env=False).status_code == 200
    described = httpx.post(f"{url}/describe", json={}, timeout=60, trust_env=False).json()
    assert len(described["properties"]["text"]) == 2 * wire.LARGE_BYTES


def test_rates_fill_again(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr("lancespace_server.rates.time.monotonic", lambda: now[0])
    rates = Rates(2)
    for _ in range(2):
        rates.take("a")
    with pytest.raises(Failure) as caught:
        rates.take("a")
    assert caught.value.headers == ((b"retry-after", b"1"),)
    rates.take("b")
    now[0] += 0.5
    rates.take("a")
    with pytest.raises(Failure):
        rates.take("a")
    rates.give_back("b")
    for _ in range(2):
        rates.take("b")


def test_names_that_are_remembered_are_few():
    rates = Rates(1)
    for number in range(20_000):
        rates.take(str(number))
    assert len(rates._buckets) == 10_000

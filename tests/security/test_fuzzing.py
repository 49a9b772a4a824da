"""Random expressions against a server in processes of its own: it lives, answers no 5xx, and stays small."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import httpx
import pytest

from plugins.server.tests.hosting import Running
from tests.security.attacking import ROWS, TYPED, attacked, peak_mb, requests_with
from tests.security.grammar import conversion, expression, typed

LIMIT_MB = 900

KEPT = (1, 2, 3)
"""Seeds that found something: a function without an argument, brackets in a row, values that no function takes."""

QUICK, MANY = 240, 1500
"""Expressions of one seed; what the kept seeds found is among the first 240."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, httpx.Client]]:
    with attacked(tmp_path_factory.mktemp("fuzzed"), "--workers", "2") as both:
        yield both


def _fuzz(
    server: tuple[Running, httpx.Client],
    seed: int,
    count: int,
    make: Callable[[random.Random], str] = expression,
    tables: str = "",
) -> None:
    running, http = server
    pid = running.process.pid
    workers = running.workers()
    chance = random.Random(seed)
    for number in range(count):
        tried = make(chance)
        path, body = chance.choice(list(requests_with(tried)))
        answer = http.post(f"/v1/table/{tables}{path}", json=body)
        assert answer.status_code < 500, (seed, number, path, tried[:1000], answer.text)
    assert running.workers() == workers
    assert http.post("/v1/table/t/count_rows", json={}).json() == ROWS
    assert peak_mb(pid) < LIMIT_MB


@pytest.mark.parametrize("seed", KEPT)
def test_random_expressions(server: tuple[Running, httpx.Client], seed: int):
    _fuzz(server, seed, QUICK)


def test_random_conversions(server: tuple[Running, httpx.Client]):
    _fuzz(server, 4, 2 * QUICK, conversion)


def test_random_expressions_over_all_types(server: tuple[Running, httpx.Client]):
    _fuzz(server, 5, 4 * QUICK, typed, TYPED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [200, 201])
def test_many_random_expressions_over_all_types(server: tuple[Running, httpx.Client], seed: int):
    _fuzz(server, seed, 2 * MANY, typed, TYPED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101, 102])
def test_many_random_expressions(server: tuple[Running, httpx.Client], seed: int):
    _fuzz(server, seed, MANY)

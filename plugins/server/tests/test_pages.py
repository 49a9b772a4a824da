"""What is asked beside the operations is answered, protected, counted and logged as they are."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lancespace_server.routes import _remembered, decode
from lancespace_testing.waiting import until
from plugins.server.tests.answered import has_answer
from plugins.server.tests.callers import connection, head
from plugins.server.tests.credentials import AUDIENCE, ISSUER
from plugins.server.tests.hosting import Running, client, running, served

PAGES = ["/healthz", "/readyz", "/metrics", "/openapi.json"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("pages"), "memory") as opened:
        yield opened


@pytest.fixture
def web(server: Running) -> Iterator[httpx.Client]:
    with client(server) as opened:
        yield opened


def line_of(server: Running, answer: httpx.Response) -> dict[str, object]:
    marker = f'"request_id":"{answer.headers["x-request-id"]}"'
    line = until(lambda: next((line for line in server.lines().splitlines() if marker in line), ""), bool)
    found: dict[str, object] = json.loads(line)
    return found


@pytest.mark.parametrize("path", [*PAGES, "/nothing", "/v1/nothing"])
def test_requests_are_identified_and_logged(server: Running, web: httpx.Client, path: str):
    answer = web.get(path)
    line = line_of(server, answer)

    assert (line["method"], line["operation"], line["path"]) == ("GET", "none", path)
    assert (line["status"], line["sent"]) == (answer.status_code, len(answer.content))
    assert line.get("error") == (None if path in PAGES else "INVALID_INPUT")


def test_a_callers_id_is_kept_and_a_long_path_cut(server: Running, web: httpx.Client):
    answer = web.get(f"/{'x' * 5000}", headers={"x-request-id": "mine"})

    assert answer.headers["x-request-id"] == answer.json()["instance"] == "mine"
    assert len(str(line_of(server, answer)["path"])) == 200


@pytest.mark.parametrize("path", PAGES)
def test_heads_have_no_body(web: httpx.Client, path: str):
    answers = [web.head(path), web.get(path)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == b""
    assert answers[0].headers["content-type"] == answers[1].headers["content-type"]
    assert web.get("/healthz").text == "ok\n"


@pytest.mark.parametrize("path", [*PAGES, "/nothing"])
def test_pages_carry_the_headers_of_operations(web: httpx.Client, path: str):
    def security(answer: httpx.Response) -> dict[str, str]:
        names = ("x-content-type-options", "cache-control", "content-security-policy")
        return {name: answer.headers[name] for name in names}

    assert security(web.get(path)) == security(web.get("/v1/table"))


def test_numbers_that_cannot_be_given_out_are_a_json_error(tmp_path: Path):
    """Whoever asks has to be known; that cannot be found out if the keys of tokens are out of reach."""
    options = ["--jwt-jwks", "https://127.0.0.1:9/keys", "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    token = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.AAAA"
    with served(tmp_path, "memory", *options) as server, client(server) as web:
        answer = web.get("/metrics", headers={"authorization": f"Bearer {token}"})

    assert (answer.status_code, answer.json()["code"]) == (503, 17)
    assert answer.headers["retry-after"] == "1"


def test_a_server_whose_threads_are_busy_is_ready(tmp_path: Path):
    script = tmp_path / "slow.py"
    script.write_text(
        textwrap.dedent("""
            import time
            from lancespace import Namespace
            from lancespace_server import ServerSettings, serve

            class Slow(Namespace):
                def call(self, operation, *given, **more):
                    if operation.name == "create_namespace":
                        time.sleep(30)
                    return super().call(operation, *given, **more)

            serve(Slow("memory", {}), settings=ServerSettings(port=0, concurrency=1, shutdown_timeout=1))
        """)
    )
    with running([str(script)], tmp_path) as server, connection(server) as busy, client(server) as web:
        busy.sendall(head("/v1/namespace/x/create", "content-length: 2", "content-type: application/json") + b"{}")
        until(lambda: web.get("/metrics").text, lambda text: "lancespace_requests_under_way 1.0" in text)
        answer = web.get("/readyz")
        is_still_busy = not has_answer(busy)

    assert (answer.status_code, answer.text, is_still_busy) == (200, "ready\n", True)


def test_long_names_are_not_remembered():
    _remembered.cache_clear()

    assert decode("a%20b") == "a b"
    assert decode("%41" * 20_000) == "A" * 20_000
    assert _remembered.cache_info().currsize == 1

"""Web pages of chosen origins may call the server; all others may not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from lancespace import connect
from lancespace_server import ServerSettings, create_app
from lancespace_testing.samples import sample, stream
from plugins.server.tests.hosting import client, served

PAGE = "https://pages.example"


def ask(method: str, headers: dict[str, str]) -> httpx.Response:
    async def call() -> httpx.Response:
        app = create_app(connect("memory"), ServerSettings(access_log=False, cors_origins=(PAGE,)))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            return await http.request(method, "/v1/table", headers=headers)

    return asyncio.run(call())


def test_a_chosen_origin_is_let_in():
    asked = ask("OPTIONS", {"origin": PAGE, "access-control-request-method": "POST"})
    answer = ask("GET", {"origin": PAGE})

    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, PAGE)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, PAGE)


def test_other_origins_are_not():
    asked = ask("OPTIONS", {"origin": "https://evil.example", "access-control-request-method": "POST"})
    answer = ask("GET", {"origin": "https://evil.example"})

    assert asked.status_code == 400
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_pages_can_read_every_answer_of_a_real_server(tmp_path: Path):
    """Our HTTP protocol has ways around ASGI, which must not be ways around CORS."""
    origins = ["--cors-origins", PAGE]
    with served(tmp_path, "memory", *origins) as server, client(server, headers={"origin": PAGE}) as web:
        arrow = {"content-type": "application/vnd.apache.arrow.stream"}
        answers = [
            web.post("/v1/namespace/n/create", json={}),
            web.post("/v1/table/n$t/create", content=stream(sample()), headers=arrow),
            web.get("/v1/namespace/n/table/list"),
            web.post("/v1/table/n$t/query", json={"k": 1, "vector": {}}),
            web.get("/readyz"),
            web.get("/v1/nothing"),
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 200, 404]
    assert {answer.headers.get("access-control-allow-origin") for answer in answers} == {PAGE}

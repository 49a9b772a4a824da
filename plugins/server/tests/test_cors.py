"""Web pages of chosen origins may call the server; all others may not."""

from __future__ import annotations

import asyncio

import httpx

from lancespace import connect
from lancespace_server import ServerSettings, create_app

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

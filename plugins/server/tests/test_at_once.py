"""Requests that are answered without ASGI: nobody can tell."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError

from lancespace import connect
from lancespace.authoring import PRINCIPAL, Principal
from lancespace_server import ServerSettings, create_app, pace
from lancespace_server.request import Answer, Request
from lancespace_server.serving import open_namespace
from lancespace_server.settings import API_KEYS_VARIABLE

JSON = (b"content-type", b"application/json")
HOST = (b"host", b"localhost")
Seen = tuple[int, dict[bytes, bytes], bytes]

CASES: dict[str, tuple[str, str, bytes, list[tuple[bytes, bytes]], bytes]] = {
    "there": ("POST", "/v1/table/ns%24t/exists", b"", [JSON], b"{}"),
    "not there": ("POST", "/v1/table/ns%24nobody/exists", b"", [JSON], b"{}"),
    "described": ("POST", "/v1/table/ns%24t/describe", b"", [JSON], b"{}"),
    "by another delimiter": ("POST", "/v1/table/ns.t/describe", b"delimiter=.", [JSON], b"{}"),
    "listed": ("GET", "/v1/namespace/ns/table/list", b"limit=1", [], b""),
    "listed with a wrong limit": ("GET", "/v1/namespace/ns/table/list", b"limit=some", [], b""),
    "all listed": ("GET", "/v1/table", b"delimiter=%2F", [], b""),
    "no JSON": ("POST", "/v1/table/ns%24t/describe", b"", [JSON], b"{"),
    "another type": ("POST", "/v1/table/ns%24t/describe", b"", [(b"content-type", b"text/plain")], b"{}"),
    "type with a charset": ("POST", "/v1/table/ns%24t/exists", b"", [(JSON[0], JSON[1] + b"; charset=utf-8")], b"{}"),
    "two ids": ("POST", "/v1/table/ns%24t/describe", b"", [JSON], b'{"id": ["ns", "other"]}'),
    "bad UTF-8": ("POST", "/v1/table/%ff/describe", b"", [JSON], b"{}"),
    "a web page": ("POST", "/v1/table/ns%24t/exists", b"", [JSON, (b"origin", b"http://evil.example")], b"{}"),
    "another host": ("POST", "/v1/table/ns%24t/exists", b"", [JSON, (b"host", b"evil.example")], b"{}"),
}


@pytest.fixture(autouse=True)
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "TRUST", 1)
    monkeypatch.setattr(pace, "FAST_SECONDS", 60.0)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog")
    with connect("dir", {"root": str(folder)}) as namespace:
        namespace.create_namespace("ns")
        for name in ("t", "u"):
            namespace.create_table(["ns", name], pa.table({"a": [1]}))
    return folder


@pytest.fixture
def app(root: Path) -> Iterator[Any]:
    with connect("dir", {"root": str(root)}) as namespace:
        yield create_app(namespace, ServerSettings())


def over_asgi(app: Any, method: str, path: str, query: bytes, headers: list[tuple[bytes, bytes]], body: bytes) -> Seen:
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "method": method,
        "path": "",
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [HOST, *headers],
        "client": ("127.0.0.1", 1),
        "scheme": "http",
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent)


def at_once(app: Any, method: str, path: str, query: bytes, headers: list[tuple[bytes, bytes]], body: bytes) -> Seen:
    async def ask() -> Answer | None:
        answer: Answer | None = app.at_once(
            Request(method, path, query, [HOST, *headers], "127.0.0.1", is_secure=False), body
        )
        return answer

    answer = asyncio.run(ask())
    assert answer is not None
    return answer.status, dict(answer.headers), answer.body


def plain(seen: Seen) -> Any:
    """Without what is of one request only."""
    status, headers, body = seen
    request_id = headers.pop(b"x-request-id")
    headers.pop(b"content-length")
    return status, headers, body.replace(request_id, b"ID")


def trusted(app: Any, case: str) -> None:
    """Have the operation of a case seen to be fast."""
    method, path, *_ = CASES[case]
    over_asgi(app, method, re.sub("ns%24nobody|%ff|ns[.]t", "ns%24t", path), b"", [], b"{}")


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_same(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str):
    log = tmp_path / "log"
    with log.open("w") as output, connect("dir", {"root": str(root)}) as namespace:
        monkeypatch.setattr("sys.stdout", output)
        app = create_app(namespace, ServerSettings())
        trusted(app, case)

        there = plain(over_asgi(app, *CASES[case]))
        here = plain(at_once(app, *CASES[case]))

    assert here == there
    lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    for line in lines:
        del line["time"], line["seconds"], line["request_id"]
    assert lines[0] == lines[1]
    assert None not in lines[0].values()
    assert lines[0]["status"] == here[0]


def test_what_was_not_seen_to_be_fast_has_to_wait(app: Any):
    request = Request("POST", "/v1/table/ns%24t/exists", b"", [HOST, JSON], None, is_secure=False)

    assert app.at_once(request, b"{}") is None


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/healthz"), ("GET", "/v1/nothing"), ("GET", "/v1/table/ns%24t/exists"), ("POST", "/v1/table/a/drop")],
)
def test_only_metadata_is_read_at_once(app: Any, method: str, path: str):
    trusted(app, "there")

    assert app.at_once(Request(method, path, b"", [HOST], None, is_secure=False), b"") is None


def test_a_large_body_has_to_wait(app: Any):
    trusted(app, "there")
    body = b" " * (ServerSettings().max_json_bytes + 1)

    assert (
        app.at_once(Request("POST", "/v1/table/ns%24t/exists", b"", [HOST, JSON], None, is_secure=False), body) is None
    )


def test_the_policy_holds(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    policy = tmp_path / "policy.toml"
    policy.write_text('[[grant]]\nprincipals = ["key:ada"]\nactions = ["read"]\non = ["ns$t"]\n', encoding="utf-8")
    monkeypatch.setenv(API_KEYS_VARIABLE, "ada:secret")
    key = (b"x-api-key", b"secret")
    settings = ServerSettings(policy=str(policy))
    with open_namespace("dir", {"root": str(root)}, settings) as namespace:
        app = create_app(namespace, settings)
        over_asgi(app, "POST", "/v1/table/ns%24t/exists", b"", [JSON, key], b"{}")

        allowed = at_once(app, "POST", "/v1/table/ns%24t/exists", b"", [JSON, key], b"{}")
        refused = at_once(app, "POST", "/v1/table/ns%24u/exists", b"", [JSON, key], b"{}")
        unknown = at_once(app, *CASES["there"])

    assert (allowed[0], refused[0], unknown[0]) == (200, 403, 401)
    assert b"has no grant to read" in refused[2]


def test_a_policy_that_the_namespace_does_not_enforce_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(API_KEYS_VARIABLE, "ada:secret")
    (tmp_path / "policy.toml").write_text("")
    settings = ServerSettings(policy=str(tmp_path / "policy.toml"))
    with connect("dir", {"root": str(root)}) as namespace, pytest.raises(InvalidInputError, match="open_namespace"):
        create_app(namespace, settings)


def test_settings_that_are_not_safe_are_refused(root: Path):
    with connect("dir", {"root": str(root)}) as namespace, pytest.raises(InvalidInputError, match="Refusing to listen"):
        create_app(namespace, ServerSettings(host="0.0.0.0"))


def test_a_caller_with_too_much_under_way_is_told_to_wait(root: Path):
    with connect("dir", {"root": str(root)}) as namespace:
        app: Any = create_app(namespace, ServerSettings(max_per_principal=1))
        trusted(app, "there")
        place = app._operations._services.pool.admit("anonymous")

        status, headers, _ = at_once(app, *CASES["there"])
        place.leave()
        again, *_ = at_once(app, *CASES["there"])

    assert (status, headers[b"retry-after"], again) == (429, b"1", 200)


def test_nobody_acts_afterwards(app: Any):
    trusted(app, "there")
    request = Request("POST", "/v1/table/ns%24t/exists", b"", [HOST, JSON], None, is_secure=False)

    async def ask() -> Principal | None:
        assert app.at_once(request, b"{}").status == 200
        return PRINCIPAL.get()

    assert asyncio.run(ask()) is None


def test_with_cors_everything_goes_over_asgi(root: Path):
    with connect("dir", {"root": str(root)}) as namespace:
        app: Any = create_app(namespace, ServerSettings(cors_origins=("https://app.example",)))

        assert app.at_once is None

"""Auth methods: what they send, when they renew it, and that they are plugins."""

from __future__ import annotations

import base64
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
    UnsupportedOperationError,
)

import lancespace
from lancespace.authoring import registry
from plugins.rest.tests.support import Reply, Seen, Server, error, reply, stall


def properties(method: str, **options: str) -> dict[str, str]:
    return {"rest__auth__type": method, **{f"rest__auth__{method}__{name}": value for name, value in options.items()}}


@pytest.mark.parametrize(
    ("given", "header", "value"),
    [
        (properties("bearer", token="t"), "authorization", "Bearer t"),
        (properties("api_key", key="k"), "x-api-key", "k"),
        (
            properties("basic", username="Zoë", password="p:w"),
            "authorization",
            f"Basic {base64.b64encode('Zoë:p:w'.encode()).decode()}",
        ),
    ],
)
def test_static_credentials(given: dict[str, str], header: str, value: str):
    with Server() as server, server.connect(**given) as namespace:
        namespace.describe_namespace("a")

    assert server.seen[0].headers[header] == value


def test_static_credentials_that_are_refused_are_not_tried_again():
    refusal = error(16, "who are you?", 401)
    with (
        Server(refusal) as server,
        server.connect(**properties("bearer", token="t")) as namespace,
        pytest.raises(UnauthenticatedError, match="who are you"),
    ):
        namespace.describe_namespace("a")

    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (properties("bearer"), "rest.auth.bearer needs the property 'token'"),
        (properties("bearer", tokn="secret"), "rest.auth.bearer does not know the property 'tokn'"),
        (properties("kerberos"), "There is no auth method 'kerberos'"),
        (properties("basic", username="a:b", password="secret"), "'rest.auth.basic.username' must not contain a colon"),
        (
            properties("oauth2", token_url="idp.example/token?key=secret", client_id="i", client_secret="secret"),
            "'rest.auth.oauth2.token_url' must be like https://host/token",
        ),
        ({"rest__auth__bearer__token": "secret"}, "does not belong to rest.auth.type='none'"),
        ({**properties("bearer", token="t"), "rest__auth__basic__username": "me"}, "does not belong to"),
    ],
)
def test_options_are_checked_at_connect(given: dict[str, str], message: str):
    with Server() as server, pytest.raises(InvalidInputError, match=message) as caught:
        server.connect(**given)

    assert "secret" not in str(caught.value)


class TokenEndpoint:
    """Gives out numbered tokens that live as long as it is told."""

    def __init__(self, expires_in: float | str | None = 3600) -> None:
        self.expires_in = expires_in
        self.given = 0
        self.together = threading.Lock()

    def __call__(self, seen: Seen) -> Reply:
        if seen.target != "/token":
            valid = seen.headers["authorization"] == f"Bearer token-{self.given}"
            return reply() if valid else error(16, "stale", 401)
        with self.together:
            self.given += 1
            return reply({"access_token": f"token-{self.given}", "token_type": "bearer", "expires_in": self.expires_in})


@pytest.fixture
def endpoint() -> TokenEndpoint:
    return TokenEndpoint()


@pytest.fixture
def server(endpoint: TokenEndpoint) -> Iterator[Server]:
    with Server(endpoint) as server:
        yield server


def oauth2(server: Server, **more: str) -> dict[str, str]:
    client = {"token_url": f"{server.uri}/token", "client_id": "me:too", "client_secret": "hunter2"}
    return properties("oauth2", **client, **more)


def test_one_token_serves_many_requests(server: Server):
    with server.connect(**oauth2(server, scope="read write", audience="lance")) as namespace:
        for _ in range(3):
            namespace.describe_namespace("a")

    token, *calls = server.seen
    assert parse_qs(token.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
        "audience": ["lance"],
    }
    assert base64.b64decode(token.headers["authorization"].removeprefix("Basic ")) == b"me%3Atoo:hunter2"
    assert [call.headers["authorization"] for call in calls] == ["Bearer token-1"] * 3


def test_a_token_is_renewed_before_it_ends(server: Server, endpoint: TokenEndpoint):
    endpoint.expires_in = 0
    with server.connect(**oauth2(server)) as namespace:
        for _ in range(3):
            namespace.describe_namespace("a")

    assert endpoint.given == 3


@pytest.mark.parametrize("life", [None, "soon", "60"])
def test_a_life_that_is_not_told_as_a_number(server: Server, endpoint: TokenEndpoint, life: str | None):
    endpoint.expires_in = life
    with server.connect(**oauth2(server)) as namespace:
        namespace.describe_namespace("a")
        namespace.describe_namespace("a")

    assert endpoint.given == 1


def test_a_token_that_is_refused_is_renewed_once(server: Server, endpoint: TokenEndpoint):
    with server.connect(**oauth2(server)) as namespace:
        namespace.describe_namespace("a")
        endpoint.given = 7  # The server has forgotten the first token.
        namespace.create_namespace("b")

    assert [seen.target.partition("?")[0] for seen in server.seen[2:]] == [
        "/v1/namespace/b/create",
        "/token",
        "/v1/namespace/b/create",
    ]


def test_many_threads_fetch_one_token(server: Server, endpoint: TokenEndpoint):
    barrier = threading.Barrier(8)

    def together(_: int) -> None:
        barrier.wait()
        namespace.describe_namespace("a")

    with server.connect(**oauth2(server)) as namespace, ThreadPoolExecutor(8) as pool:
        list(pool.map(together, range(8)))

    assert endpoint.given == 1
    assert len(server.seen) == 9


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (
            reply({"error": "invalid_client"}, 401),
            UnauthenticatedError,
            r"refused the client 'me:too' \(401, invalid_client",
        ),
        (Reply(400, b"<html>hunter2</html>"), UnauthenticatedError, r"refused the client 'me:too' \(400\)"),
        (Reply(503), ServiceUnavailableError, r"failed \(503\)"),
        (Reply(408), ServiceUnavailableError, r"failed \(408\)"),
        (Reply(429), ThrottlingError, r"wants to be asked less often \(429\)"),
        (reply({"id_token": "hunter2"}), UnauthenticatedError, "answered without an access_token"),
        (Reply(302, b"", {"location": "/elsewhere"}), UnauthenticatedError, "answered without an access_token"),
    ],
)
def test_token_endpoint_that_gives_none(answer: Reply, kind: type[LanceNamespaceError], message: str):
    with (
        Server(answer) as server,
        server.connect(**oauth2(server), retry__max_wait="0.01") as namespace,
        pytest.raises(kind, match=message) as caught,
    ):
        namespace.describe_namespace("a")

    assert "hunter2" not in str(caught.value)


def test_token_endpoint_that_cannot_be_reached():
    given = properties(
        "oauth2", token_url="http://127.0.0.1:1/token?key=hunter2", client_id="me", client_secret="hunter2"
    )
    with (
        Server() as server,
        server.connect(**given, retry__max_wait="0.01") as namespace,
        pytest.raises(ServiceUnavailableError, match=r"cannot be reached: .*Connection refused") as caught,
    ):
        namespace.describe_namespace("a")

    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_token_endpoint_that_says_nothing():
    with (
        Server(Reply(act=stall)) as server,
        server.connect(**oauth2(server), timeout__read="0.05", retry__max_wait="0.01") as namespace,
        pytest.raises(ServiceUnavailableError, match="cannot be reached: timed out"),
    ):
        namespace.describe_namespace("a")


STRANGER = """
from lancespace.authoring import Property
from lancespace_rest.auth import AuthMethod


class Handshake(AuthMethod):
    properties = (Property("word", "The word", required=True, secret=True),)

    def headers(self, call):
        return {"x-handshake": f"{self.settings['word']} {call.method} {call.body_sha256[:4]} {call.refused}"}
"""


def test_a_strangers_method_is_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "stranger.py").write_text(STRANGER)
    info = tmp_path / "stranger-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[lancespace.auth]\nhandshake = stranger:Handshake\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    registry.refresh()
    with Server(Reply(200, b"")) as server, server.connect(**properties("handshake", word="please")) as namespace:
        namespace.drop_table("t")
    registry.refresh()

    assert server.seen[0].headers["x-handshake"] == "please POST e3b0 False"


def test_the_pip_line_of_a_method_that_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.delitem(sys.modules, "botocore.session", raising=False)
    with pytest.raises(UnsupportedOperationError, match=r'pip install "lancespace-rest\[sigv4\]"'):
        lancespace.connect(
            "rest", {"uri": "http://host", "rest.auth.type": "sigv4", "rest.auth.sigv4.region": "eu-north-1"}
        )

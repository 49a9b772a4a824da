"""Credentials that are refused or end: renewed once for all threads, in time, and told to the auth method always."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from lance_namespace import InternalError, ServiceUnavailableError, UnauthenticatedError

from lancespace_rest.auth import Call
from lancespace_testing.samples import sample
from plugins.rest.tests.support import Reply, Seen, Server, error, reply, stall
from plugins.rest.tests.test_auth import TokenEndpoint, oauth2, properties

QUICK = {"retry__max_wait": "0.01"}


def fetches(server: Server) -> int:
    return sum(seen.target == "/token" for seen in server.seen)


def test_data_that_can_be_read_once_renews_the_token_for_the_next():
    endpoint = TokenEndpoint()
    with Server(endpoint) as server, server.connect(**oauth2(server)) as namespace:
        namespace.describe_namespace("a")
        endpoint.given = 7  # The server has forgotten the first token.
        with pytest.raises(UnauthenticatedError, match="stale"):
            namespace.insert_into_table("t", sample().to_reader())
        namespace.insert_into_table("t", sample().to_reader())

    assert fetches(server) == 2


def test_threads_whose_token_is_refused_one_after_the_other_fetch_one():
    """Who hears of it late finds that there is a newer one by then."""
    endpoint, together = TokenEndpoint(), threading.Barrier(8)
    renewed = threading.Event()

    def answer(seen: Seen) -> Reply:
        old = seen.headers["authorization"] == "Bearer token-1"
        if "refused" in seen.target and old:
            together.wait(10)
            if seen.segments[2] != "refused-0":
                renewed.wait(10)
        if seen.target == "/token" and endpoint.given:
            renewed.set()
        return endpoint(seen)

    with Server(answer) as server, server.connect(**oauth2(server)) as namespace, ThreadPoolExecutor(8) as threads:
        namespace.describe_namespace("a")
        endpoint.given = 7
        list(threads.map(namespace.describe_namespace, [f"refused-{number}" for number in range(8)]))

    assert fetches(server) == 2


@pytest.mark.parametrize("status", [200, 401])
def test_an_endpoint_that_answers_the_same_token_again_is_asked_once(status: int):
    """Whether the token has ended (it is renewed before it is sent) or is refused."""
    together = threading.Barrier(8)

    def answer(seen: Seen) -> Reply:
        if seen.target == "/token":
            has_ended = status == 200 and fetches(server) == 1
            return reply({"access_token": "same", "expires_in": 0 if has_ended else 3600})
        if "together" not in seen.target:
            return reply()
        together.wait(10)
        return reply() if status == 200 else error(16, "no", status)

    def ask(_: int) -> None:
        try:
            namespace.describe_namespace("together")
        except UnauthenticatedError:
            assert status == 401

    with Server(answer) as server, server.connect(**oauth2(server)) as namespace, ThreadPoolExecutor(8) as threads:
        namespace.describe_namespace("a")
        list(threads.map(ask, range(8)))

    assert fetches(server) == 2
    assert len(server.seen) == 2 + 1 + 8


def test_a_request_with_an_identity_of_its_own_needs_no_token():
    with (
        Server(error(16, "who are you?", 401)) as server,
        server.connect(**oauth2(server)) as namespace,
        pytest.raises(UnauthenticatedError, match="who are you"),
    ):
        namespace.describe_namespace("a", identity={"auth_token": "mine"})

    assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer mine"]


@pytest.mark.parametrize("trouble", [Reply(503), Reply(429), Reply(408)])
def test_the_token_endpoint_is_asked_again_where_that_may_help(trouble: Reply):
    endpoint, troubles = TokenEndpoint(), [trouble, trouble]

    def answer(seen: Seen) -> Reply:
        return troubles.pop() if seen.target == "/token" and troubles else endpoint(seen)

    with Server(answer) as server, server.connect(**oauth2(server), **QUICK) as namespace:
        namespace.declare_table("t")

    assert fetches(server) == 3


def test_the_deadline_is_kept_while_a_token_is_fetched_and_while_others_wait_for_it():
    begun = time.monotonic()
    with (
        Server(Reply(act=stall)) as server,
        server.connect(**oauth2(server), timeout__total="0.5", timeout__read="60") as namespace,
        ThreadPoolExecutor(3) as threads,
    ):
        waiting = [threads.submit(namespace.describe_namespace, "a") for _ in range(3)]
        for one in waiting:
            with pytest.raises(ServiceUnavailableError, match=r"it took longer than timeout\.total"):
                one.result()

    assert time.monotonic() - begun < 30


def test_an_answer_is_closed_if_there_are_no_other_credentials_to_be_had():
    gone = threading.Event()
    endpoint = TokenEndpoint()

    def refuse(handler: Any) -> None:
        handler.send_response(401)
        handler.send_header("content-length", "1000000")
        handler.end_headers()
        handler.wfile.flush()
        if not handler.rfile.read(1):
            gone.set()

    def answer(seen: Seen) -> Reply:
        if seen.target == "/token":
            return Reply(400) if endpoint.given else endpoint(seen)
        return Reply(act=refuse)

    with Server(answer) as server, server.connect(**oauth2(server)) as namespace:
        with pytest.raises(UnauthenticatedError, match="refused the client"):
            namespace.describe_namespace("a")
        assert gone.wait(10)


def test_an_auth_method_that_fails_is_not_the_connection(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def headers(call: Call) -> dict[str, str]:
        asked.append(call)
        raise requests.ConnectionError("403 for https://vault.example/login?token=hunter2")

    with Server() as server, server.connect(**properties("bearer", token="t"), **QUICK) as namespace:
        monkeypatch.setattr(namespace.backend._transport._auth, "headers", headers)
        with pytest.raises(
            InternalError, match="'t': the auth method BearerAuth failed: ConnectionError: 403"
        ) as caught:
            namespace.declare_table("t")

    assert len(asked) == 1
    assert "hunter2" not in str(caught.value)
    assert server.seen == []

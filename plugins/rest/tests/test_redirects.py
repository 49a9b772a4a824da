"""Redirects are followed where they carry neither credentials nor data elsewhere."""

from __future__ import annotations

import pytest
from lance_namespace import InvalidInputError

from lancespace.testing.samples import sample
from plugins.rest.tests.support import Reply, Seen, Server, reply

SECRET = {"rest__auth__type": "api_key", "rest__auth__api_key__key": "hunter2"}


def moved(status: int, location: str) -> Reply:
    return Reply(status, b"", {"location": location})


@pytest.mark.parametrize("status", [307, 308])
def test_a_post_stays_a_post(status: int):
    def answer(seen: Seen) -> Reply:
        return reply() if seen.target.startswith("/new/") else moved(status, f"/new{seen.target}")

    with Server(answer) as server, server.connect(**SECRET) as namespace:
        namespace.create_namespace("a", properties={"b": "c"})

    assert [seen.method for seen in server.seen] == ["POST", "POST"]
    assert server.seen[1].json == {"id": ["a"], "properties": {"b": "c"}}
    assert server.seen[1].headers["x-api-key"] == "hunter2"


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_post_never_becomes_a_get(status: int):
    with (
        Server(moved(status, "/new")) as server,
        server.connect() as namespace,
        pytest.raises(InvalidInputError, match=r"redirects to http://127\.0\.0\.1:.*set the property 'uri' to where"),
    ):
        namespace.create_namespace("a")

    assert len(server.seen) == 1


def test_a_get_may_move():
    def answer(seen: Seen) -> Reply:
        return reply({"tables": ["t"]}) if seen.target.startswith("/new/") else moved(302, f"/new{seen.target}")

    with Server(answer) as server, server.connect() as namespace:
        assert list(namespace.tables()) == ["t"]


def test_nothing_is_sent_to_another_host():
    with (
        Server() as other,
        Server(moved(307, f"{other.uri}/v1/namespace/a/describe")) as server,
        server.connect(**SECRET) as namespace,
        pytest.raises(InvalidInputError, match="redirects to"),
    ):
        namespace.describe_namespace("a")

    assert other.seen == []


def test_data_that_can_be_read_once_does_not_move():
    with (
        Server(moved(307, "/new")) as server,
        server.connect() as namespace,
        pytest.raises(InvalidInputError, match="redirects to"),
    ):
        namespace.create_table("t", sample().to_reader())


def test_redirects_end():
    with (
        Server(moved(307, "/v1/round/and/round")) as server,
        server.connect() as namespace,
        pytest.raises(InvalidInputError, match="redirects more than 5 times"),
    ):
        namespace.describe_namespace("a")

    assert len(server.seen) == 5

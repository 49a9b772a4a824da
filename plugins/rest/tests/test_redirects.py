"""Redirects are followed where they carry neither credentials nor data elsewhere."""

from __future__ import annotations

import pytest
from lance_namespace import InvalidInputError

from lancespace_testing.samples import sample
from plugins.rest.tests.certificates import Authority
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


@pytest.mark.parametrize("location", ["http://127.0.0.1:abc/x", "http://[/x", "http://127.0.0.1:99999/x"])
def test_an_address_that_is_none(location: str):
    with (
        Server(moved(307, location)) as server,
        server.connect() as namespace,
        pytest.raises(InvalidInputError, match=r"redirects to an address that is none.*a broken Location"),
    ):
        namespace.describe_namespace("a")


def test_a_user_in_the_address_is_nobodys():
    with Server() as server:
        server.script = moved(307, f"http://eve:secret@127.0.0.1:{server.port}/x")
        with (
            server.connect(**SECRET) as namespace,
            pytest.raises(InvalidInputError, match=r"redirects to http://127\.0\.0\.1:\d+/x") as caught,
        ):
            namespace.describe_namespace("a")

    assert "secret" not in str(caught.value)
    assert len(server.seen) == 1


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def secure(authority: Authority, script: Reply) -> Server:
    return Server(script, authority.server_context(authority.sign("localhost", "127.0.0.1")))


def test_from_http_to_https_on_the_same_host(authority: Authority):
    with (
        secure(authority, reply()) as new,
        Server(moved(308, f"{new.uri}/v1/namespace/a/create")) as old,
        old.connect(**SECRET, tls__ssl_ca_cert=str(authority.certificate)) as namespace,
    ):
        namespace.create_namespace("a", properties={"b": "c"})

    assert new.seen[0].headers["x-api-key"] == "hunter2"
    assert new.seen[0].json == {"id": ["a"], "properties": {"b": "c"}}


def test_never_from_https_to_http(authority: Authority):
    with (
        Server() as plain,
        secure(authority, moved(307, f"{plain.uri}/x")) as server,
        server.connect(**SECRET, tls__ssl_ca_cert=str(authority.certificate)) as namespace,
        pytest.raises(InvalidInputError, match="redirects to http://"),
    ):
        namespace.describe_namespace("a")

    assert plain.seen == []


def test_redirects_end():
    with (
        Server(moved(307, "/v1/round/and/round")) as server,
        server.connect() as namespace,
        pytest.raises(InvalidInputError, match="redirects more than 5 times"),
    ):
        namespace.describe_namespace("a")

    assert len(server.seen) == 5

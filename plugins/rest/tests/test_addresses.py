"""Identifiers, delimiters and prefixes in URLs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lance_namespace import InvalidInputError

import lancespace
from lancespace.identifiers import _why_not
from plugins.rest.tests.support import Server, reply

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(lambda name: _why_not(name) is None)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@given(names=st.lists(NAMES, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_name_arrives_as_it_is(server: Server, names: list[str]):
    with server.connect() as namespace:
        namespace.describe_namespace(names)

    assert server.seen[-1].segments == ["v1", "namespace", "$".join(names), "describe"]
    assert server.seen[-1].query == [("delimiter", "$")]
    assert server.seen[-1].json == {"id": names}


@pytest.mark.parametrize("name", ["a/b", "a%2Fb", "100%", "a?b#c", "a b", "a+b", "ünï", "a.b", "a;b=c", "...", "a&b"])
def test_every_index_name_arrives_as_it_is(server: Server, name: str):
    with server.connect() as namespace:
        namespace.drop_table_index("t", index_name=name)

    assert server.seen[-1].segments == ["v1", "table", "t", "index", name, "drop"]


@pytest.mark.parametrize("name", [".", "..", ""])
def test_an_index_name_never_leads_to_another_route(server: Server, name: str):
    before = len(server.seen)
    with server.connect() as namespace, pytest.raises(InvalidInputError, match="index_name must be a name"):
        namespace.drop_table_index("t", index_name=name)

    assert len(server.seen) == before


@pytest.mark.parametrize(("delimiter", "root"), [("$", "$"), ("::", "::"), ("/", "/"), (".", "$"), ("é%", "é%")])
def test_delimiter(server: Server, delimiter: str, root: str):
    with server.connect(delimiter=delimiter) as namespace:
        namespace.describe_namespace(["a", "b"])
        namespace.describe_namespace([])

    below, top = server.seen[-2:]
    assert (below.segments[2], below.query) == (f"a{delimiter}b", [("delimiter", delimiter)])
    assert (top.segments[2], top.query) == (root, [("delimiter", root)])


def test_whole_catalog_is_listed_with_the_delimiter_of_the_connection():
    with Server(reply({"tables": ["a.b"]})) as listing, listing.connect(delimiter=".") as namespace:
        assert namespace.list_all_tables().tables == ["a.b"]

    assert ("delimiter", ".") in listing.seen[-1].query


def test_a_name_with_the_delimiter_is_refused(server: Server):
    with server.connect(delimiter=".") as namespace, pytest.raises(InvalidInputError) as caught:
        namespace.describe_namespace(["a.b", "c"])

    assert str(caught.value) == (
        "The name 'a.b' contains the delimiter '.' of this connection: rename it, or connect with another delimiter."
    )


@pytest.mark.parametrize("prefix", ["", "/", "/lance", "/deep/er/", "/with%20space"])
def test_prefix(server: Server, prefix: str):
    with lancespace.connect("rest", {"uri": f"{server.uri}{prefix}"}) as namespace:
        namespace.describe_namespace("a")

    assert server.seen[-1].target == f"{prefix.rstrip('/')}/v1/namespace/a/describe?delimiter=%24"


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("localhost:2333", "must be like http://host:2333 or https://host/prefix"),
        ("ftp://host", "must be like"),
        ("http://", "must be like"),
        ("http://host:port", "must be like"),
        ("http://host?x=1", "must be like"),
        ("http://host/x?", "must be like"),
        ("http://host#", "must be like"),
        ("http://me:secret@host", "rest.auth.type=basic"),
    ],
)
def test_bad_uri_is_refused_at_connect(uri: str, message: str):
    with pytest.raises(InvalidInputError, match=message) as caught:
        lancespace.connect("rest", {"uri": uri})

    assert "secret" not in str(caught.value)


def test_empty_delimiter_is_refused(server: Server):
    with pytest.raises(InvalidInputError, match="must not be empty"):
        server.connect(delimiter="")


def test_numbers_that_json_does_not_have_are_refused(server: Server):
    with server.connect() as namespace, pytest.raises(InvalidInputError, match="cannot be written as JSON"):
        namespace.explain_table_query_plan("t", query={"vector": [float("nan")]})


def test_text_of_a_body_is_not_escaped(server: Server):
    with server.connect() as namespace:
        namespace.create_namespace("a", properties={"owner": "Zoë"})

    assert "Zoë".encode() in server.seen[-1].body
    assert json.loads(server.seen[-1].body)["properties"] == {"owner": "Zoë"}

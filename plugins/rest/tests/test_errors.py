"""What an error answer becomes: its code decides, without one its status, and what came is shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import lance_namespace as spec
import pytest
from lance_namespace import ErrorCode, InternalError, LanceNamespaceError, from_error_code

from lancespace_rest.errors import shortened
from plugins.rest.tests.support import Reply, Server, error, reply, reset

HTML = {"content-type": "text/html"}


def caught_from(answer: Reply, operation: str = "describe_table") -> LanceNamespaceError:
    """The error of a client that does not try again."""
    with (
        Server(answer) as server,
        server.connect(retry__attempts="1") as namespace,
        pytest.raises(LanceNamespaceError) as caught,
    ):
        getattr(namespace, operation)("a.t")
    return caught.value


@pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)
def test_the_code_decides_whatever_the_status_says(code: ErrorCode):
    caught = caught_from(error(code, "the server's words", 418))

    assert type(caught) is type(from_error_code(code, ""))
    assert str(caught) == "the server's words"


def test_detail_is_shown_too():
    answer = reply({"code": 4, "error": "no t", "detail": "dropped by Ann", "instance": "x"}, 404)

    assert str(caught_from(answer)) == "no t (dropped by Ann)"


def test_code_without_words():
    assert str(caught_from(reply({"code": 4}, 404))) == (
        "describe_table 'a.t': the server answered 404 Not Found with application/json: '{\"code\": 4}'"
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, "InvalidInputError"),
        (401, "UnauthenticatedError"),
        (403, "PermissionDeniedError"),
        (405, "UnsupportedOperationError"),
        (406, "UnsupportedOperationError"),
        (409, "ConcurrentModificationError"),
        (413, "InvalidInputError"),
        (429, "ThrottlingError"),
        (500, "InternalError"),
        (501, "UnsupportedOperationError"),
        (502, "ServiceUnavailableError"),
        (503, "ServiceUnavailableError"),
        (504, "ServiceUnavailableError"),
    ],
)
@pytest.mark.parametrize(
    "body", [b"<html><h1>Oh</h1></html>", b'{"code": 4, "err', b'{"code": 99}', b"[]", b"\xff\xfe"]
)
def test_without_a_code_the_status_decides(status: int, expected: str, body: bytes):
    assert type(caught_from(Reply(status, body, HTML))) is getattr(spec, expected)


def test_what_came_is_shown_short_and_without_secrets():
    page = b"<html>\n  <h1>Bad gateway</h1>\n api_key=hunter2 " + b"x" * 5000
    caught = str(caught_from(Reply(502, page, HTML)))

    assert caught.startswith(
        "describe_table 'a.t': the server answered 502 Bad Gateway with text/html: '<html> <h1>Bad gateway</h1> api"
    )
    assert "hunter2" not in caught
    assert len(caught) < 500


@pytest.mark.parametrize("framing", ["content-length", "transfer-encoding"])
@pytest.mark.parametrize("operation", ["describe_table", "declare_table"])
def test_an_error_that_is_cut_off_keeps_its_status(framing: str, operation: str):
    def cut_off(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(403)
        handler.send_header(framing, "1000" if framing == "content-length" else "chunked")
        handler.end_headers()
        page = b"<html>Forbidden by"
        handler.wfile.write(page if framing == "content-length" else b"%x\r\n%s\r\n" % (len(page), page))
        handler.wfile.flush()
        reset(handler)

    caught = caught_from(Reply(act=cut_off), operation)

    assert type(caught) is spec.PermissionDeniedError
    assert "<html>Forbidden by" in str(caught)


@pytest.mark.parametrize(("status", "operation"), [(502, "describe_table"), (200, "query_table")])
def test_of_a_page_that_never_ends_only_the_beginning_is_read(status: int, operation: str):
    sent = []

    def page() -> Iterator[bytes]:
        for _ in range(2000):
            sent.append(1)
            yield b"<p>sorry</p> " * 5000

    caught = caught_from(Reply(status, chunks=page(), headers=HTML), operation)

    assert "<p>sorry</p>" in str(caught)
    assert len(sent) < 1000


def test_what_is_shown_was_searched_for_secrets_in_time():
    begun = time.monotonic()
    assert len(shortened("secret " * 10_000_000)) < 500
    assert time.monotonic() - begun < 5


def test_unknown_route_is_an_unsupported_operation():
    caught = caught_from(reply({"detail": "Not Found"}, 404))

    assert type(caught) is spec.UnsupportedOperationError
    assert "the server has no route POST /v1/table/{id}/describe" in str(caught)
    assert "lacks its path prefix" in str(caught)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("table_exists", spec.TableNotFoundError), ("namespace_exists", spec.NamespaceNotFoundError)],
)
def test_existence_is_told_by_the_status_alone(operation: str, expected: type[LanceNamespaceError]):
    assert type(caught_from(Reply(404, b""), operation)) is expected


def test_an_older_server_says_without_a_code_that_an_object_is_missing():
    assert type(caught_from(reply({"error": {"message": "no such table"}}, 404))) is spec.TableNotFoundError


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("describe_table", b"<html>login</html>"),
        ("describe_table", b"[1]"),
        ("list_table_tags", b"{}"),
        ("list_table_tags", b""),
        ("count_table_rows", b'"three"'),
        ("update_table_schema_metadata", b"3"),
        ("analyze_table_query_plan", b"{}"),
        ("query_table", b"<html>login</html>"),
        ("query_table", b""),
    ],
)
def test_a_success_that_is_none_is_an_internal_error_that_shows_it(operation: str, body: bytes):
    caught = caught_from(Reply(200, body, HTML), operation)

    assert type(caught) is InternalError
    assert body.decode() in str(caught) or "without a body" in str(caught)
    assert "Is there a proxy in between?" in str(caught)

"""Identity and context become headers, and headers become context."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from lance_namespace import InternalError, InvalidInputError, UnauthenticatedError

from lancespace._requests import build
from lancespace.authoring import OPERATIONS, ArrowData, namespace_class
from lancespace_rest.auth import Call
from lancespace_testing.samples import sample, stream
from plugins.rest.tests.support import Seen, Server, reply


class Provider:
    """What a user would write; its options are properties."""

    def __init__(self, tenant: str, fail: str = "") -> None:
        self.tenant = tenant
        self.fail = fail

    def provide_context(self, info: dict[str, str]) -> dict[str, str]:
        if self.fail == "login":
            raise UnauthenticatedError("log in first")
        if self.fail == "number":
            return {"header.x-number": 5}  # type: ignore[dict-item]
        if self.fail:
            raise RuntimeError(f"the vault is closed, token={self.fail}")
        return {
            "headers.x-tenant": self.tenant,
            "header.x-about": f"{info['operation']} {info['object_id']}",
            "note": "not a header",
            "header.AUTHORIZATION": "provider",
        }


PROVIDER = {"dynamic_context_provider__impl": f"{__name__}.Provider", "dynamic_context_provider__tenant": "acme"}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(reply({"tables": []}, x_request_id="r-1")) as server:
        yield server


def sent(server: Server, properties: dict[str, str] | None = None, **fields: Any) -> Seen:
    with server.connect(**(properties or {})) as namespace:
        namespace.describe_namespace("a", **fields)
    return server.seen[-1]


def test_identity(server: Server):
    seen = sent(server, identity={"api_key": "k", "auth_token": "t"})

    assert (seen.headers["x-api-key"], seen.headers["authorization"]) == ("k", "Bearer t")
    assert seen.json == {"id": ["a"]}


def test_context(server: Server):
    seen = sent(server, context={"header.X-Trace": "1", "headers.x-more": "2", "plain": "3"})

    assert (seen.headers["x-trace"], seen.headers["x-more"]) == ("1", "2")
    assert seen.json == {"id": ["a"], "context": {"plain": "3"}}


def test_context_without_a_body(server: Server):
    with server.connect() as namespace:
        answer = namespace.list_tables("a", context={"header.x-trace": "1", "plain": "3"})

    assert server.seen[-1].headers["x-trace"] == "1"
    assert server.seen[-1].body == b""
    assert answer.context is not None
    assert answer.context["header.x-request-id"] == "r-1"


def test_what_a_gateway_passes_on_does_not_garble_the_message(server: Server):
    foreign = {"Host": "elsewhere", "Content-Length": "1", "Transfer-Encoding": "chunked", "Connection": "close"}
    seen = sent(server, context={f"header.{name}": value for name, value in foreign.items()})

    assert seen.headers["host"] == f"127.0.0.1:{server.port}"
    assert seen.json == {"id": ["a"]}
    assert "transfer-encoding" not in seen.headers


@pytest.mark.parametrize("family", ["header", "headers"])
def test_headers_of_the_connection(server: Server, family: str):
    assert sent(server, {f"{family}__x-tenant": "acme"}).headers["x-tenant"] == "acme"


def test_what_is_nearer_to_the_request_wins(server: Server):
    properties = {
        "header__authorization": "property",
        "rest__auth__type": "bearer",
        "rest__auth__bearer__token": "auth",
    }
    assert sent(server, {"header__authorization": "property"}).headers["authorization"] == "property"
    assert sent(server, properties).headers["authorization"] == "Bearer auth"
    assert sent(server, properties, identity={"auth_token": "own"}).headers["authorization"] == "Bearer own"
    context = {"header.Authorization": "context"}
    assert (
        sent(server, properties, identity={"auth_token": "own"}, context=context).headers["authorization"] == "context"
    )


def test_context_provider(server: Server):
    seen = sent(server, PROVIDER)

    assert (seen.headers["x-tenant"], seen.headers["x-about"]) == ("acme", "describe_namespace a")
    assert seen.json["context"] == {"note": "not a header"}
    assert sent(server, PROVIDER, context={"headers.x-tenant": "own"}).headers["x-tenant"] == "own"


def test_a_provider_is_between_the_auth_method_and_the_identity(server: Server):
    properties = {**PROVIDER, "rest__auth__type": "bearer", "rest__auth__bearer__token": "auth"}

    assert sent(server, properties).headers["authorization"] == "provider"
    assert sent(server, properties, identity={"auth_token": "own"}).headers["authorization"] == "Bearer own"
    context = {"header.authorization": "context"}
    assert (
        sent(server, properties, identity={"auth_token": "own"}, context=context).headers["authorization"] == "context"
    )


def test_identity_and_context_beside_arrow_data(server: Server):
    identity = {"api_key": "k", "auth_token": "t"}
    context = {"header.x-trace": "1", "plain": "3"}
    with server.connect(**PROVIDER) as namespace:
        namespace.insert_into_table("t", sample(), identity=identity, context=context)

    seen = server.seen[-1]
    expected = {"x-api-key": "k", "authorization": "Bearer t", "x-trace": "1", "x-tenant": "acme"}
    assert expected.items() <= seen.headers.items()
    assert seen.body == stream(sample())


def test_pylance_has_the_same_interface():
    from lance.namespace import DynamicContextProvider

    from lancespace_rest.backend import ContextProvider

    assert DynamicContextProvider.__abstractmethods__ == {"provide_context"}
    assert hasattr(ContextProvider, "provide_context")


@pytest.mark.parametrize(
    ("impl", "message"),
    [
        ("Provider", "must be a class path"),
        ("no_such_module.Provider", "No module named 'no_such_module'"),
        (f"{__name__}.Nobody", "Nobody"),
        (f"{__name__}.Provider", "tenant"),
    ],
)
def test_provider_that_cannot_be_made_is_refused_at_connect(server: Server, impl: str, message: str):
    with pytest.raises(InvalidInputError, match=message):
        server.connect(dynamic_context_provider__impl=impl)


def test_provider_that_fails(server: Server):
    with pytest.raises(InternalError, match="Provider failed: RuntimeError: the vault is closed") as caught:
        sent(server, {**PROVIDER, "dynamic_context_provider__fail": "hunter2"})

    assert "hunter2" not in str(caught.value)


def test_provider_that_answers_no_strings(server: Server):
    with pytest.raises(InternalError, match=r"Provider must answer strings, but 'header\.x-number' is int"):
        sent(server, {**PROVIDER, "dynamic_context_provider__fail": "number"})


def test_an_error_of_the_spec_is_the_providers_own(server: Server):
    with pytest.raises(UnauthenticatedError, match=r"^log in first$"):
        sent(server, {**PROVIDER, "dynamic_context_provider__fail": "login"})


SPACED = [" hunter2", "hunter2 ", "\thunter2", "hunter2\t", "\xa0hunter2"]


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\0", "żółw", *SPACED])
def test_header_that_cannot_be_sent_is_refused_without_its_value(server: Server, value: str):
    with pytest.raises(InvalidInputError, match="'x-a' has a value that HTTP cannot carry") as caught:
        sent(server, context={"header.x-a": value})
    with pytest.raises(InvalidInputError):
        sent(server, identity={"api_key": value})
    with pytest.raises(InvalidInputError):
        server.connect(header__x=value)

    assert value not in str(caught.value)
    assert server.seen == []


@pytest.mark.parametrize("value", SPACED)
def test_the_headers_of_auth_methods_are_checked_too(server: Server, value: str):
    key = {"rest__auth__type": "api_key", "rest__auth__api_key__key": value}
    with pytest.raises(InvalidInputError, match="'x-api-key' has a value that HTTP cannot carry") as caught:
        sent(server, key)

    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert server.seen == []


def test_no_repr_has_a_secret(server: Server):
    operation, secret = OPERATIONS["create_table"], "2retnuh"[::-1]
    with server.connect(header__x=secret) as namespace:
        fields = {"identity": {"auth_token": secret}, "storage_options": {"k": secret}}
        backend: Any = namespace.backend
        message = backend._message(operation, build(operation, "t", fields), ArrowData(b""))
    call = Call("POST", message.url, message.headers, None, refused=True, credentials=message.headers)

    assert secret in unquote(message.url)
    assert secret not in f"{message!r} {call!r}"


@pytest.mark.parametrize("name", ["content-length", "Transfer-Encoding", "accept"])
def test_headers_of_the_message_are_the_clients(server: Server, name: str):
    with pytest.raises(InvalidInputError, match="the client sets that header itself"):
        server.connect(**{f"header__{name}": "1"})


def test_a_provider_may_be_an_object(server: Server):
    """As pylance's ``RestNamespace(context_provider=…)``."""
    namespace = namespace_class("rest")(uri=server.uri, context_provider=Provider("acme"))
    namespace.list_tables("a")

    assert server.seen[-1].headers["x-tenant"] == "acme"
    with pytest.raises(InvalidInputError, match="name its class in the property"):
        pickle.dumps(namespace)


def test_an_object_that_provides_nothing_is_refused(server: Server):
    with pytest.raises(InvalidInputError, match="the context_provider, a str, needs a method provide_context"):
        namespace_class("rest")(uri=server.uri, context_provider="acme")

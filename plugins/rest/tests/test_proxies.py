"""Proxies: tunnels for https, what they refuse, and what never left this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from requests.exceptions import InvalidSchema
from typing_extensions import Self

import lancespace
from plugins.rest.tests.certificates import Authority
from plugins.rest.tests.support import Reply, Server, reply

QUICK = {"retry.max_wait": "0.01"}


class Tunnels:
    """A proxy that makes tunnels, or answers with a status instead."""

    def __init__(self, status: str = "200 OK", target: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.name = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._status = status
        self._target = target
        self.heads: list[str] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        self.heads.append(head.decode())
        client.sendall(f"HTTP/1.1 {self._status}\r\n\r\n".encode())
        if self._target:
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                threading.Thread(target=pump, args=(client, server), daemon=True).start()
                pump(server, client)
        client.close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(params=["127.0.0.1", ""], ids=["its own name", "another name"])
def server(request: pytest.FixtureRequest, authority: Authority) -> Iterator[Server]:
    signed = authority.sign("elsewhere.example", *filter(None, [request.param]))
    with Server(reply({"tables": ["t"]}), authority.server_context(signed)) as server:
        yield server


def test_a_tunnel_has_the_tls_of_the_connection(server: Server, authority: Authority, request: pytest.FixtureRequest):
    given = {"uri": server.uri, "tls.ssl_ca_cert": str(authority.certificate), "retry.attempts": "1"}
    if "another" in request.node.name:
        given["tls.assert_hostname"] = "false"
    with (
        Tunnels(target=server.port) as proxy,
        lancespace.connect("rest", {**given, "proxy": f"http://me:hunter2@{proxy.name}"}) as namespace,
    ):
        for _ in range(3):
            assert list(namespace.tables()) == ["t"]
        namespace.declare_table("t")

    assert [head.partition(" HTTP")[0] for head in proxy.heads] == [f"CONNECT 127.0.0.1:{server.port}"]
    assert "Proxy-Authorization: Basic " in proxy.heads[0]
    assert "proxy-authorization" not in server.seen[0].headers


@pytest.mark.parametrize(
    ("status", "expected", "asked"),
    [
        ("407 Proxy Authentication Required", UnauthenticatedError, 1),
        ("403 Forbidden", PermissionDeniedError, 1),
        ("503 Busy", ServiceUnavailableError, 3),
    ],
)
@pytest.mark.parametrize("operation", ["declare_table", "describe_table"])
def test_a_tunnel_that_is_refused(status: str, expected: type[LanceNamespaceError], asked: int, operation: str):
    """Nothing has reached the server, so a write may be repeated, too, if that may help."""
    with (
        Tunnels(status) as proxy,
        lancespace.connect(
            "rest",
            {"uri": "https://a.invalid", "proxy": f"http://me:hunter2@{proxy.name}", "retry.attempts": "3", **QUICK},
        ) as namespace,
        pytest.raises(LanceNamespaceError) as caught,
    ):
        getattr(namespace, operation)("t")

    assert type(caught.value) is expected
    assert f"the proxy {proxy.name} makes no connection to https://a.invalid" in str(caught.value)
    assert "carried out" not in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert len(proxy.heads) == asked


def test_a_proxy_for_plain_http_that_wants_a_password():
    with (
        Server(Reply(407)) as proxy,
        lancespace.connect("rest", {"uri": "http://a.invalid", "proxy": proxy.uri}) as namespace,
        pytest.raises(UnauthenticatedError, match="Put the user and password for the proxy into its URL"),
    ):
        namespace.declare_table("t")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there(scheme: str):
    given = {"uri": f"{scheme}://a.invalid", "proxy": "http://127.0.0.1:1", "retry.attempts": "2", **QUICK}
    with (
        lancespace.connect("rest", given) as namespace,
        pytest.raises(ServiceUnavailableError, match=r"cannot reach .* by way of the proxy 127\.0\.0\.1:1: .*refused"),
    ):
        namespace.declare_table("t")


def test_a_handshake_that_stalls_is_no_connection():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        uri = f"https://127.0.0.1:{deaf.getsockname()[1]}"
        given = {"uri": uri, "timeout.connect": "0.2", "retry.attempts": "2", **QUICK}
        with (
            lancespace.connect("rest", given) as namespace,
            pytest.raises(ServiceUnavailableError, match=r"cannot reach .*timed out") as caught,
        ):
            namespace.declare_table("t")
        deaf.settimeout(0)
        waiting = [deaf.accept()[0] for _ in range(2)]
        for one in waiting:
            one.close()

    assert "carried out" not in str(caught.value)


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("socks5://127.0.0.1:1", r'cannot be sent: .*pip install "requests\[socks\]"'),
        ("://", "cannot be sent: .*Check the properties 'uri' and 'proxy'"),
        ("http://a:b:c", "cannot be sent"),
    ],
)
def test_a_proxy_that_cannot_be_used(proxy: str, message: str, monkeypatch: pytest.MonkeyPatch):
    def missing(*_: object, **__: object) -> None:
        raise InvalidSchema("Missing dependencies for SOCKS support.")

    monkeypatch.setattr("requests.adapters.SOCKSProxyManager", missing)
    with (
        lancespace.connect("rest", {"uri": "http://a.invalid", "proxy": proxy}) as namespace,
        pytest.raises(InvalidInputError, match=message),
    ):
        namespace.declare_table("t")


def test_authorities_of_the_environment_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    with (
        lancespace.connect("rest", {"uri": "https://127.0.0.1:1"}) as namespace,
        pytest.raises(InvalidInputError, match=r"none\.pem.* the environment variable REQUESTS_CA_BUNDLE"),
    ):
        namespace.declare_table("t")

"""TLS with an authority of our own: who is trusted, and who is let in."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import InvalidInputError, ServiceUnavailableError

import lancespace
from plugins.rest.tests.certificates import Authority, Signed
from plugins.rest.tests.support import Server, reply

ANSWER = reply({"tables": ["t"]})


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def host(authority: Authority) -> Signed:
    return authority.sign("localhost", "127.0.0.1")


def tables(server: Server, **properties: Path | str) -> list[str]:
    with server.connect(**{name: str(value) for name, value in properties.items()}) as namespace:
        return list(namespace.tables())


def test_own_authority(authority: Authority, host: Signed):
    with Server(ANSWER, authority.server_context(host)) as server:
        assert tables(server, tls__ssl_ca_cert=authority.certificate) == ["t"]


def test_the_property_goes_before_the_environment(
    authority: Authority, host: Signed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(Authority(tmp_path, "another").certificate))
    with Server(ANSWER, authority.server_context(host)) as server:
        assert tables(server, tls__ssl_ca_cert=authority.certificate) == ["t"]
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.certificate))
        assert tables(server) == ["t"]


def test_unknown_authority_is_refused_at_once(authority: Authority, host: Signed):
    with (
        Server(ANSWER, authority.server_context(host)) as server,
        pytest.raises(ServiceUnavailableError, match=r"certificate verify failed.*set tls\.ssl_ca_cert") as caught,
    ):
        tables(server)

    assert f"no secure connection to {server.uri}" in str(caught.value)
    assert server.seen == []


def test_certificate_of_another_host(authority: Authority):
    elsewhere = authority.sign("elsewhere.example")
    with Server(ANSWER, authority.server_context(elsewhere)) as server:
        with pytest.raises(ServiceUnavailableError, match=r"not valid for '127\.0\.0\.1'"):
            tables(server, tls__ssl_ca_cert=authority.certificate)
        assert tables(server, tls__ssl_ca_cert=authority.certificate, tls__assert_hostname="false") == ["t"]


@pytest.mark.parametrize("combined", [False, True], ids=["two files", "one file"])
def test_client_certificate(authority: Authority, host: Signed, tmp_path: Path, combined: bool):
    client = authority.sign("client")
    given: dict[str, Path | str] = {"tls__cert_file": client.certificate, "tls__key_file": client.key}
    if combined:
        both = tmp_path / "both.pem"
        both.write_bytes(client.certificate.read_bytes() + client.key.read_bytes())
        given = {"tls__cert_file": both}
    trust = {"tls__ssl_ca_cert": authority.certificate}
    with Server(ANSWER, authority.server_context(host, clients=authority.certificate)) as server:
        assert tables(server, **trust, **given) == ["t"]
        with pytest.raises(ServiceUnavailableError):
            tables(server, **trust, retry__attempts="1")


def test_files_may_be_replaced_while_connected(authority: Authority, host: Signed, tmp_path: Path):
    """Short-lived certificates are renewed on disk; a new connection has the new one."""
    stranger = Authority(tmp_path, "stranger").sign("client")
    known = authority.sign("client")
    with Server(ANSWER, authority.server_context(host, clients=authority.certificate)) as server:
        files = {"tls__cert_file": str(stranger.certificate), "tls__key_file": str(stranger.key)}
        trust = {"tls__ssl_ca_cert": str(authority.certificate), "retry__attempts": "1"}
        with server.connect(**trust, **files) as namespace:
            with pytest.raises(ServiceUnavailableError):
                namespace.list_tables()
            stranger.certificate.write_bytes(known.certificate.read_bytes())
            stranger.key.write_bytes(known.key.read_bytes())
            assert list(namespace.tables()) == ["t"]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"tls.ssl_ca_cert": "/no/such/file"}, "'tls.ssl_ca_cert' names no file: '/no/such/file'"),
        ({"tls.key_file": __file__}, "'tls.key_file' needs 'tls.cert_file'"),
        ({"tls.assert_hostname": "false"}, "only with 'tls.ssl_ca_cert'"),
    ],
)
def test_bad_options_are_refused_at_connect(properties: dict[str, str], message: str):
    with pytest.raises(InvalidInputError, match=message):
        lancespace.connect("rest", {"uri": "https://host", **properties})

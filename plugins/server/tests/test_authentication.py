"""Who is let in: API keys, bearer tokens, client certificates."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from lancespace_testing.waiting import until
from plugins.server.tests.answered import has_answer
from plugins.server.tests.callers import connection
from plugins.server.tests.credentials import AUDIENCE, ISSUER, Authority, Signer
from plugins.server.tests.hosting import Running, client, served

KEYS = "LANCESPACE_SERVER_API_KEYS"


def acted(server: Running, answer: httpx.Response) -> str:
    """Whose request it was, according to the log, which is written after the answer."""
    marker = f'"request_id":"{answer.headers["x-request-id"]}"'
    line = until(lambda: next((line for line in server.lines().splitlines() if marker in line), ""), bool)
    return str(json.loads(line).get("principal"))


@pytest.fixture(scope="module")
def signer() -> Signer:
    return Signer("first")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, signer: Signer) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("keys")
    (folder / "keys").write_text(f"# ours\nalice:{hashlib.sha256(b'alices key').hexdigest()}  # rotated\n")
    (folder / "jwks.json").write_text(signer.jwks())
    options = ["--api-keys", str(folder / "keys"), "--jwt-jwks", str(folder / "jwks.json")]
    options += ["--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    with served(folder, "memory", *options, environment={KEYS: "bob:bobs key"}) as running:
        yield running


class TestKeysAndTokens:
    def test_api_keys_of_file_and_environment(self, server: Running):
        with client(server) as web:
            for name, key in {"alice": "alices key", "bob": "bobs key"}.items():
                answer = web.get("/v1/table", headers={"x-api-key": key})

                assert answer.status_code == 200
                assert acted(server, answer) == f"key:{name}"

    def test_without_a_credential_nobody_gets_in(self, server: Running):
        with client(server) as web:
            for headers in ({}, {"x-api-key": "no such key"}, {"authorization": "Basic YTpi"}, {"x-api-key": ""}):
                answer = web.get("/v1/table", headers=headers)

                assert (answer.status_code, answer.json()["code"]) == (401, 16)
                assert answer.headers["www-authenticate"] == "Bearer"
            assert "Send an API key in the header x-api-key or a bearer token" in web.get("/v1/table").json()["error"]
            assert web.get("/metrics").status_code == 401
            assert web.get("/metrics", headers={"x-api-key": "bobs key"}).status_code == 200
            assert [web.get(path).status_code for path in ("/healthz", "/readyz", "/openapi.json")] == [200] * 3

    def test_a_good_token_names_its_subject(self, server: Running, signer: Signer):
        token = signer.token("alice")
        with client(server, headers={"authorization": f"Bearer {token}"}) as web:
            for _ in range(2):
                answer = web.get("/v1/table")

                assert answer.status_code == 200
                assert acted(server, answer) == "jwt:alice"

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"exp": 1}, "Signature has expired"),
            ({"exp": None}, 'missing the "exp" claim'),
            ({"iss": "https://other.example"}, "Invalid issuer"),
            ({"aud": "other"}, "Audience doesn't match"),
            ({"aud": None}, 'missing the "aud" claim'),
            ({"nbf": 1 << 40}, "not yet valid"),
            ({"sub": ""}, "names nobody"),
            ({"sub": "\ud800"}, "names nobody"),
            ({"sub": "alice\n"}, "names nobody"),
            ({"nbf": 10**400}, "not yet valid"),
            ({"exp": float("inf")}, "must be an integer"),
        ],
    )
    def test_tokens_for_other_times_and_places(
        self, server: Running, signer: Signer, change: dict[str, Any], reason: str
    ):
        with client(server, headers={"authorization": f"Bearer {signer.token(**change)}"}) as web:
            answer = web.get("/v1/table")

        assert answer.status_code == 401
        assert reason in answer.json()["error"]

    def test_a_token_for_ever_is_a_token(self, server: Running, signer: Signer):
        with client(server, headers={"authorization": f"Bearer {signer.token('alice', exp=10**400)}"}) as web:
            assert [web.get("/v1/table").status_code for _ in range(2)] == [200, 200]

    def test_a_token_that_is_nested_too_deeply_is_refused(self, server: Running):
        head = base64.urlsafe_b64encode(b'{"alg": "RS256", "x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}").decode()
        with client(server, headers={"authorization": f"Bearer {head.rstrip('=')}.e30.e30"}) as web:
            assert web.get("/v1/table").status_code == 401

    @pytest.mark.parametrize("name", ["x-api-key", "authorization"])
    def test_a_credential_is_sent_once(self, server: Running, name: str):
        """With two of them, a proxy may have checked one and the server the other."""
        with client(server, headers=[(name, "alices key"), (name, "bobs key")]) as web:
            answers = [web.get("/v1/table"), web.post("/v1/table/t/exists"), web.get("/metrics")]

        assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(400, 13)] * 3

    def test_every_credential_that_is_sent_must_be_good(self, server: Running, signer: Signer):
        good, bad = f"Bearer {signer.token('carol')}", f"Bearer {Signer('first').token('carol')}"
        with client(server) as web:
            both = web.get("/v1/table", headers={"x-api-key": "alices key", "authorization": good})
            for key, token in (("alices key", bad), ("no such key", good)):
                answer = web.get("/v1/table", headers={"x-api-key": key, "authorization": token})
                assert answer.status_code == 401

        assert (both.status_code, acted(server, both)) == (200, "key:alice")

    def test_forged_tokens(self, server: Running, signer: Signer):
        public = signer.jwks().encode()
        claims = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "exp": 1 << 40}
        unsigned = jwt.encode(claims, "", "none", headers={"kid": "first"})
        good = signer.token()
        forged = [
            Signer("first").token(),
            Signer("second").token(),
            signer.token(algorithm="HS256", key=hashlib.sha512(public).digest()),
            unsigned,
            good[:-4] + "AAAA",
            good.partition(".")[0],
            "x",
        ]
        with client(server) as web:
            for token in forged:
                answer = web.get("/v1/table", headers={"authorization": f"Bearer {token}"})
                assert answer.status_code == 401, token


class _Keys(http.server.BaseHTTPRequestHandler):
    """Serves a JWKS that the test can change."""

    document = ""
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        body = self.document.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Be quiet."""


def serving(handler: type[http.server.BaseHTTPRequestHandler], authority: Authority) -> http.server.HTTPServer:
    """A server of keys, with a certificate of the authority."""
    issuer = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("issuer"))
    issuer.socket = context.wrap_socket(issuer.socket, server_side=True)
    threading.Thread(target=issuer.serve_forever, daemon=True).start()
    return issuer


def test_keys_are_fetched_from_a_url_once(tmp_path: Path):
    authority, signer = Authority(tmp_path), Signer("remote")
    _Keys.document = signer.jwks()
    issuer = serving(_Keys, authority)
    url = f"https://127.0.0.1:{issuer.server_port}/jwks.json"
    options = ["--jwt-jwks", url, "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]

    trusted = {"SSL_CERT_FILE": authority.certificate}
    with served(tmp_path, "memory", *options, environment=trusted) as server, client(server) as web:
        good = web.get("/v1/table", headers={"authorization": f"Bearer {signer.token()}"})
        for _ in range(3):
            unknown = web.get("/v1/table", headers={"authorization": f"Bearer {Signer('x').token()}"})
    issuer.shutdown()
    issuer.server_close()

    assert (good.status_code, unknown.status_code, _Keys.asked) == (200, 401, 1)


class _Hanging(http.server.BaseHTTPRequestHandler):
    """A source of keys that takes its time."""

    is_over = threading.Event()

    def do_GET(self) -> None:
        self.is_over.wait(60)


def test_strangers_do_not_keep_callers_with_a_key_waiting(tmp_path: Path):
    authority = Authority(tmp_path)
    issuer = serving(_Hanging, authority)
    options = ["--jwt-jwks", f"https://127.0.0.1:{issuer.server_port}/", "--jwt-issuer", ISSUER]
    options += ["--jwt-audience", AUDIENCE, "--concurrency", "1", "--max-waiting", "0"]
    environment = {"SSL_CERT_FILE": authority.certificate, KEYS: "good:1"}
    token = Signer("unknown").token()
    head = f"GET /v1/table HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n".encode()
    with served(tmp_path, "memory", *options, environment=environment) as server, ExitStack() as strangers:
        waiting = [strangers.enter_context(connection(server)) for _ in range(8)]
        for stranger in waiting:
            stranger.sendall(head)
        with client(server, headers={"x-api-key": "1"}) as web:
            answers = [web.post(f"/v1/namespace/{name}/create", json={}) for name in ("a", "b")]
            ready = web.get("/readyz")
        still_waiting = [not has_answer(stranger) for stranger in waiting]
        _Hanging.is_over.set()
    issuer.shutdown()
    issuer.server_close()

    assert [answer.status_code for answer in (*answers, ready)] == [200, 200, 200]
    assert all(still_waiting)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Running]:
    certificate, key = authority.issue("server")
    options = ["--tls-certificate", certificate, "--tls-key", key, "--tls-client-ca", authority.certificate]
    with served(tmp_path_factory.mktemp("tls"), "memory", *options) as running:
        yield running


class TestCertificates:
    def trusting(self, authority: Authority, identity: tuple[str, str] | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=authority.certificate)
        if identity is not None:
            context.load_cert_chain(*identity)
        return context

    def test_the_subject_is_the_principal(self, tls_server: Running, authority: Authority):
        with client(tls_server, verify=self.trusting(authority, authority.issue("alice", "A, B"))) as web:
            answer = web.get("/v1/table")

        assert answer.status_code == 200
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert acted(tls_server, answer) == r"cert:CN=alice,O=A\, B"

    def test_other_certificates_and_none_are_refused(self, tls_server: Running, authority: Authority, tmp_path: Path):
        stranger = Authority(tmp_path).issue("alice")
        for identity in (None, stranger):
            with (
                client(tls_server, verify=self.trusting(authority, identity)) as web,
                pytest.raises(httpx.TransportError),
            ):
                web.get("/v1/table")

    def test_beside_api_keys_a_certificate_is_one_way_of_several(self, authority: Authority, tmp_path: Path):
        certificate, key = authority.issue("server")
        options = ["--tls-certificate", certificate, "--tls-key", key, "--tls-client-ca", authority.certificate]
        alice = self.trusting(authority, authority.issue("alice"))
        with served(tmp_path, "memory", *options, environment={KEYS: "bob:1"}) as server:
            with client(server, verify=alice) as web:
                by_certificate = web.get("/v1/table")
                by_both = web.get("/v1/table", headers={"x-api-key": "1"})
                with_a_wrong_key = web.get("/v1/table", headers={"x-api-key": "2"})
                health = web.get("/healthz")
            with client(server, verify=self.trusting(authority, None)) as web:
                by_key = web.get("/v1/table", headers={"x-api-key": "1"})
                by_nothing = web.get("/v1/table")
            acting = [acted(server, answer) for answer in (by_certificate, by_both, by_key)]

        assert acting == ["cert:CN=alice,O=Acme", "key:bob", "key:bob"]
        assert [answer.status_code for answer in (with_a_wrong_key, by_nothing)] == [401, 401]
        assert health.headers["strict-transport-security"] == "max-age=31536000"

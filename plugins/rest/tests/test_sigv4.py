"""AWS signatures, checked by a server that works them out from what it got, as AWS's own documentation says."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from lance_namespace import UnauthenticatedError

import lancespace
from lancespace_testing.samples import sample
from plugins.rest.tests.support import Reply, Seen, Server, error, reply

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session-token"
SIGV4 = {"rest__auth__type": "sigv4", "rest__auth__sigv4__region": "eu-north-1"}


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)


def keyed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def is_signed(seen: Seen, service: str) -> bool:
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8}/[^,]+), SignedHeaders=([^,]+), Signature=(\w+)",
        seen.headers["authorization"],
    )
    assert found is not None
    key, scope, names, signature = found.groups()
    parts = urlsplit(seen.target)
    canonical = [
        seen.method,
        quote(parts.path, safe="/-_.~"),
        "&".join(sorted(parts.query.split("&"))),
        *(f"{name}:{seen.headers[name].strip()}" for name in names.split(";")),
        "",
        names,
        seen.headers["x-amz-content-sha256"],
    ]
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{seen.headers['x-amz-date']}\n{scope}\n{digest}"
    signing = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        signing = keyed(signing, part)
    named = scope.split("/")[1:] == ["eu-north-1", service, "aws4_request"] and "host" in names and key == KEY
    return named and hmac.compare_digest(keyed(signing, text).hex(), signature)


def checking(service: str = "execute-api") -> Server:
    def answer(seen: Seen) -> Reply:
        return reply({"location": "/x"}) if is_signed(seen, service) else error(16, "bad signature", 403)

    return Server(answer)


def test_signature():
    with checking() as server, server.connect(**SIGV4) as namespace:
        namespace.describe_table(["a", "b c|%é"], with_table_uri=True)
        namespace.drop_table("t")

    first, second = server.seen
    assert first.headers["x-amz-security-token"] == TOKEN
    assert first.headers["x-amz-content-sha256"] == hashlib.sha256(first.body).hexdigest()
    assert second.headers["x-amz-content-sha256"] == hashlib.sha256(b"").hexdigest()


def test_data_that_streams_is_not_signed():
    with checking() as server, server.connect(**SIGV4) as namespace:
        namespace.create_table("t", sample().to_reader(), properties={"owner": "Zoë + co"})

    assert server.seen[0].headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD"
    assert "Zoë + co" in unquote(server.seen[0].target)


@pytest.mark.parametrize("prefix", ["/a%7Eb", "/a b", "/ünï", "/a%2Fb", "/a/../b"])
def test_what_is_sent_is_what_is_signed(prefix: str):
    properties = {name.replace("__", "."): value for name, value in SIGV4.items()}
    with (
        checking() as server,
        lancespace.connect("rest", {"uri": f"{server.uri}{prefix}", **properties}) as namespace,
    ):
        assert namespace.describe_table("t").location == "/x"


def test_a_redirect_is_signed_anew():
    def answer(seen: Seen) -> Reply:
        if not seen.target.startswith("/new/"):
            return Reply(307, b"", {"location": f"/new{seen.target}"})
        return reply({"location": "/x"}) if is_signed(seen, "execute-api") else error(16, "bad signature", 403)

    with Server(answer) as server, server.connect(**SIGV4) as namespace:
        assert namespace.describe_table("t").location == "/x"


def test_a_host_of_ones_own_is_signed():
    with checking() as server, server.connect(**SIGV4, header__host="api.example") as namespace:
        assert namespace.describe_table("t").location == "/x"

    assert server.seen[0].headers["host"] == "api.example"


def test_another_service():
    with checking("lambda") as server, server.connect(**SIGV4, rest__auth__sigv4__service="lambda") as namespace:
        namespace.describe_table("t")


def test_without_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with (
        checking() as server,
        server.connect(**SIGV4) as namespace,
        pytest.raises(UnauthenticatedError, match="found no AWS credentials"),
    ):
        namespace.describe_table("t")

"""The table against what pylance, object_store and gcsfs really know."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import lance
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from lance_namespace import InvalidInputError

from lancespace.authoring import boolean, duration
from lancespace_dir_gcp import credentials
from lancespace_dir_gcp.options import OPTIONS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def service_account() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {"client_email": "robot@example.com", "token_uri": "http://127.0.0.1:9", "private_key": pem}
    return json.dumps({"type": "service_account", **account})


USER = json.dumps({"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"})
EXTERNAL = json.dumps(
    {
        "type": "external_account",
        "audience": "a",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"file": "/token"},
    }
)

# What users write, and where it must arrive: options, pylance's share, fsspec's share.
SPELLINGS: list[tuple[tuple[str, ...], str, dict[str, str], dict[str, Any]]] = [
    (
        ("base_url", "google_base_url", "GOOGLE_BASE_URL", "endpoint", "endpoint_url"),
        "https://storage.example.com/",
        {"google_base_url": "https://storage.example.com"},
        {"endpoint_url": "https://storage.example.com"},
    ),
    (
        ("endpoint",),
        "http://127.0.0.1:4443",
        {"google_base_url": "http://127.0.0.1:4443", "allow_http": "true"},
        {"endpoint_url": "http://127.0.0.1:4443"},
    ),
    (
        ("storage_emulator_host", "STORAGE_EMULATOR_HOST"),
        "localhost:4443",
        {"google_base_url": "http://localhost:4443", "allow_http": "true"},
        {"endpoint_url": "http://localhost:4443"},
    ),
    (
        ("skip_signature", "google_skip_signature", "GOOGLE_SKIP_SIGNATURE", "anon"),
        "true",
        {"google_skip_signature": "true"},
        {"token": "anon"},
    ),
    (("token",), "anon", {"google_skip_signature": "true"}, {"token": "anon"}),
    (("token",), "google_default", {}, {}),
    (("skip_signature",), "false", {"google_skip_signature": "false"}, {}),
    (("project", "project_id", "google_cloud_project"), "p", {}, {"project": "p"}),
    (("timeout", "request_timeout", "requests_timeout"), "30s", {"timeout": "30000ms"}, {"requests_timeout": 30}),
    (("connect_timeout",), "5", {"connect_timeout": "5000ms"}, {}),
    (("read_timeout",), "5", {"read_timeout": "5000ms"}, {}),
    (("client_max_retries", "max_retries"), "4", {"client_max_retries": "4"}, {}),
    (("proxy_url",), "http://proxy", {"proxy_url": "http://proxy"}, {"session_kwargs": {"proxy": "http://proxy"}}),
    (("user_agent",), "me/1", {"user_agent": "me/1"}, {}),
    (("lance_aimd_max_rate",), "100", {"lance_aimd_max_rate": "100"}, {}),
]


@pytest.mark.parametrize(
    ("spelling", "text", "lance_options", "arguments"),
    [(spelling, *rest) for spellings, *rest in SPELLINGS for spelling in spellings],
)
def test_spellings(spelling: str, text: str, lance_options: dict[str, str], arguments: dict[str, Any]):
    assert OPTIONS.for_lance({spelling: text}) == lance_options
    assert OPTIONS.for_fsspec({spelling: text}) == arguments


@pytest.mark.parametrize(
    "spelling",
    [
        *("storage_token", "google_storage_token", "GOOGLE_STORAGE_TOKEN", "bearer_token", "google_bearer_token"),
        "token",
    ],
)
def test_a_token(spelling: str):
    assert OPTIONS.for_lance({spelling: "ya29.x"}) == {"google_storage_token": "ya29.x"}
    assert OPTIONS.for_fsspec({spelling: "ya29.x"})["token"].token == "ya29.x"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("service_account", "google_service_account"),
        ("google_service_account", "google_service_account"),
        ("google_service_account_path", "google_service_account"),
        ("service_account_path", "google_service_account"),
        ("application_credentials", "google_application_credentials"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "google_application_credentials"),
        ("token", "google_application_credentials"),
    ],
)
def test_a_credentials_file(spelling: str, name: str, service_account: str, tmp_path: Path):
    path = tmp_path / "account.json"
    path.write_text(service_account)
    assert OPTIONS.for_lance({spelling: str(path)}) == {name: str(path)}
    assert OPTIONS.for_fsspec({spelling: str(path)})["token"].service_account_email == "robot@example.com"


@pytest.mark.parametrize("spelling", ["service_account_key", "google_service_account_key", "token"])
def test_the_contents_of_a_credentials_file(spelling: str, service_account: str):
    assert OPTIONS.for_lance({spelling: service_account}) == {"google_service_account_key": service_account}
    assert OPTIONS.for_fsspec({spelling: service_account})["token"].service_account_email == "robot@example.com"


@pytest.mark.parametrize(
    ("text", "kind"), [(USER, "google.oauth2.credentials"), (EXTERNAL, "google.auth.identity_pool")]
)
def test_other_kinds_of_accounts(text: str, kind: str):
    assert type(credentials.from_json(text)).__module__ == kind


def test_equal_credentials_are_one(service_account: str):
    assert credentials.from_json(service_account) is credentials.from_json(service_account)
    assert credentials.from_token("t") is credentials.from_token("t")
    assert credentials.from_token("t") is not credentials.from_token("u")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"base_url": "https://a", "endpoint": "https://b"}, "set 'base_url' to different values"),
        ({"endpoint": "http://a", "allow_http": "false"}, "option 'endpoint' and option 'allow_http' set 'allow_http'"),
        ({"token": "cloud"}, "must be 'anon', 'google_default', a token or a credentials file"),
        ({"requester_pays": "true"}, "pylance cannot pay for requests"),
        ({"google_bucket": "b"}, "the location names it"),
        ({"allow_invalid_certificates": "true"}, "SSL_CERT_FILE, which both obey"),
        ({"servce_account": "x"}, "Did you mean 'service_account'?"),
    ],
)
def test_refusals(given: dict[str, str], message: str):
    for translate in (OPTIONS.for_lance, OPTIONS.for_fsspec):
        with pytest.raises(InvalidInputError) as caught:
            translate(given)
        assert message in str(caught.value)


def test_two_credentials_exclude_each_other():
    with pytest.raises(InvalidInputError, match="option 'storage_token' and option 'anon' exclude each other"):
        OPTIONS.for_fsspec({"storage_token": "t", "anon": "true"})


@pytest.mark.parametrize(
    "text", ["hush", '{"type": "hush"}', '["hush"]', '{"type": "service_account", "private_key": "hush"}']
)
def test_credentials_that_are_none(text: str):
    with pytest.raises(InvalidInputError, match="not the JSON of a known type") as caught:
        OPTIONS.for_fsspec({"service_account_key": text})
    assert "hush" not in str(caught.value)


def test_a_credentials_file_that_is_none():
    with pytest.raises(InvalidInputError, match=r"the credentials file '/nowhere\.json' cannot be read"):
        OPTIONS.for_fsspec({"service_account": "/nowhere.json"})


def test_given_and_ambient_credentials_are_not_mixed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/elsewhere.json")
    with pytest.raises(InvalidInputError, match="unset GOOGLE_SERVICE_ACCOUNT, or give 'service_account' as an option"):
        OPTIONS.for_lance({"storage_token": "t"})
    monkeypatch.delenv("GOOGLE_SERVICE_ACCOUNT")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/elsewhere.json")
    assert OPTIONS.for_lance({"storage_token": "t"}) == {"google_storage_token": "t"}


TYPED = [
    name for option in OPTIONS.options.values() if option.type in {boolean, duration} for name in option.lance_names
]


@pytest.mark.parametrize("name", TYPED)
def test_pylance_knows_the_names(name: str):
    """A name it knows, it reads; and what it cannot read it refuses before it asks the store anything."""
    known = OPTIONS.for_lance({"endpoint": "http://127.0.0.1:9", "storage_token": "t"})
    with pytest.raises(ValueError, match="failed to parse"):
        lance.dataset("gs://lake/t.lance", storage_options={**known, name: "nonsense"})


def test_gcsfs_knows_the_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    from gcsfs.core import GCSFileSystem

    arguments = {row.fsspec.partition(".")[0] for row in OPTIONS.options.values() if row.fsspec}
    assert arguments <= set(inspect.signature(GCSFileSystem.__init__).parameters)

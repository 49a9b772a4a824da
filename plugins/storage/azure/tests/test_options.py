"""The table against what pylance, object_store and adlfs really know."""

from __future__ import annotations

import inspect
from typing import Any

import lance
import pytest
from adlfs import AzureBlobFileSystem
from lance_namespace import InvalidInputError

from lancespace.authoring import boolean, duration
from lancespace_dir_azure.accounts import EMULATOR
from lancespace_dir_azure.options import OPTIONS

KEY = EMULATOR["account_key"]
EMULATED = {
    "azure_storage_account_name": "devstoreaccount1",
    "azure_storage_account_key": KEY,
    "azure_storage_endpoint": "http://127.0.0.1:10000/devstoreaccount1",
    "allow_http": "true",
}

# What users write, and where it must arrive: options, pylance's share, fsspec's share.
SPELLINGS: list[tuple[tuple[str, ...], str, dict[str, str], dict[str, Any]]] = [
    (
        ("account_name", "azure_storage_account_name", "AZURE_STORAGE_ACCOUNT_NAME"),
        "acme",
        {"azure_storage_account_name": "acme"},
        {"account_name": "acme"},
    ),
    (
        (
            *("account_key", "access_key", "master_key", "azure_storage_account_key", "AZURE_STORAGE_ACCOUNT_KEY"),
            *("azure_storage_access_key", "azure_storage_master_key"),
        ),
        "a2V5",
        {"azure_storage_account_key": "a2V5"},
        {"account_key": "a2V5"},
    ),
    (
        ("sas_token", "sas_key", "azure_storage_sas_token", "azure_storage_sas_key", "AZURE_STORAGE_SAS_TOKEN"),
        "sv=1&sig=2",
        {"azure_storage_sas_key": "sv=1&sig=2"},
        {"sas_token": "sv=1&sig=2"},
    ),
    (
        ("endpoint", "azure_endpoint", "azure_storage_endpoint", "AZURE_STORAGE_ENDPOINT"),
        "https://acme.blob.core.cloudapi.de/",
        {"azure_storage_endpoint": "https://acme.blob.core.cloudapi.de"},
        {"account_host": "acme.blob.core.cloudapi.de"},
    ),
    (
        ("account_host",),
        "acme.blob.core.cloudapi.de",
        {"azure_storage_endpoint": "https://acme.blob.core.cloudapi.de"},
        {"account_host": "acme.blob.core.cloudapi.de"},
    ),
    (
        ("use_emulator", "azure_storage_use_emulator", "object_store_use_emulator", "AZURE_STORAGE_USE_EMULATOR"),
        "true",
        EMULATED,
        {"account_name": "devstoreaccount1", "account_key": KEY, "account_host": "127.0.0.1:10000/devstoreaccount1"},
    ),
    (("use_emulator",), "false", {}, {}),
    (
        ("skip_signature", "azure_skip_signature", "AZURE_SKIP_SIGNATURE", "anon"),
        "true",
        {"azure_skip_signature": "true"},
        {"anon": True},
    ),
    (("use_azure_cli", "azure_use_azure_cli"), "true", {"azure_use_azure_cli": "true"}, {}),
    (
        ("connect_timeout", "connection_timeout"),
        "5",
        {"connect_timeout": "5000ms"},
        {"connection_timeout": 5},
    ),
    (("read_timeout",), "1m", {"read_timeout": "60000ms"}, {"read_timeout": 60}),
    (("timeout", "request_timeout"), "30s", {"timeout": "30000ms"}, {}),
    (("client_max_retries", "max_retries"), "4", {"client_max_retries": "4"}, {}),
    (("max_concurrency",), "2", {}, {"max_concurrency": 2}),
    (("user_agent",), "me/1", {"user_agent": "me/1"}, {}),
    (("disable_tagging", "azure_disable_tagging"), "true", {"azure_disable_tagging": "true"}, {}),
    (("lance_aimd_max_rate",), "100", {"lance_aimd_max_rate": "100"}, {}),
]


@pytest.mark.parametrize(
    ("spelling", "text", "lance_options", "arguments"),
    [(spelling, *rest) for spellings, *rest in SPELLINGS for spelling in spellings],
)
def test_spellings(spelling: str, text: str, lance_options: dict[str, str], arguments: dict[str, Any]):
    assert OPTIONS.for_lance({spelling: text}) == lance_options
    assert OPTIONS.for_fsspec({spelling: text}) == arguments


@pytest.mark.parametrize("client", ["client_id", "azure_client_id", "AZURE_CLIENT_ID", "azure_storage_client_id"])
@pytest.mark.parametrize("secret", ["client_secret", "AZURE_CLIENT_SECRET", "azure_storage_client_secret"])
@pytest.mark.parametrize("tenant", ["tenant_id", "authority_id", "AZURE_TENANT_ID", "azure_storage_tenant_id"])
def test_spellings_of_a_service_principal(client: str, secret: str, tenant: str):
    given = {client: "c", secret: "s", tenant: "t"}
    assert OPTIONS.for_lance(given) == {
        "azure_storage_client_id": "c",
        "azure_storage_client_secret": "s",
        "azure_storage_tenant_id": "t",
    }
    assert OPTIONS.for_fsspec(given) == {"client_id": "c", "client_secret": "s", "tenant_id": "t"}


@pytest.mark.parametrize("spelling", ["bearer_token", "token", "azure_storage_token", "AZURE_STORAGE_TOKEN"])
def test_a_bearer_token(spelling: str):
    assert OPTIONS.for_lance({spelling: "x"}) == {"azure_storage_token": "x"}
    assert OPTIONS.for_fsspec({spelling: "x"})["credential"]._token == "x"


@pytest.mark.parametrize("spelling", ["connection_string", "AZURE_STORAGE_CONNECTION_STRING"])
@pytest.mark.parametrize(
    ("text", "lance_options"),
    [
        (
            "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=a2V5==;EndpointSuffix=core.windows.net",
            {"azure_storage_account_name": "acme", "azure_storage_account_key": "a2V5=="},
        ),
        (
            "AccountName=acme;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn;",
            {
                "azure_storage_account_name": "acme",
                "azure_storage_account_key": "a2V5",
                "azure_storage_endpoint": "https://acme.blob.core.chinacloudapi.cn",
            },
        ),
        (
            "blobendpoint=https://cdn.example.com/;SharedAccessSignature=sv=1&sig=2%3D;accountname=acme",
            {
                "azure_storage_account_name": "acme",
                "azure_storage_sas_key": "sv=1&sig=2%3D",
                "azure_storage_endpoint": "https://cdn.example.com",
            },
        ),
        ("UseDevelopmentStorage=true", EMULATED),
    ],
)
def test_connection_strings(spelling: str, text: str, lance_options: dict[str, str]):
    assert OPTIONS.for_lance({spelling: text}) == lance_options


def test_the_emulator_is_where_pylance_looks_for_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", "http://azurite:1/")
    assert OPTIONS.for_lance({"use_emulator": "1"})["azure_storage_endpoint"] == "http://azurite:1/devstoreaccount1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"account_name": "a", "connection_string": "AccountName=b;AccountKey=c"}, "set 'account_name' to different"),
        ({"connection_string": "hush-hush"}, "must be a connection string: 'AccountName=...;AccountKey=...'"),
        ({"client_id": "c"}, "option 'client_id' needs 'client_secret' and 'tenant_id' too"),
        ({"client_secret": "hush-hush", "client_id": "c"}, "needs 'tenant_id' too"),
        ({"endpoint": "acme.blob.core.windows.net"}, "must be a URL that begins with"),
        ({"azure_federated_token_file": "f"}, "set AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_ID and AZURE_TENANT_ID"),
        ({"proxy_url": "http://p"}, "set HTTPS_PROXY (and NO_PROXY) there, which pylance obeys too"),
        ({"container_name": "c"}, "the location names it"),
        ({"azure_fabric_session_token": "hush-hush"}, "give 'bearer_token' or a service principal"),
        ({"encryption_key": "hush-hush"}, "use an encryption scope of the account"),
        ({"acount_name": "a"}, "Did you mean 'account_name'?"),
    ],
)
def test_refusals(given: dict[str, str], message: str):
    for translate in (OPTIONS.for_lance, OPTIONS.for_fsspec):
        with pytest.raises(InvalidInputError) as caught:
            translate(given)
        assert message in str(caught.value)
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "option"),
    [
        ("AZURE_STORAGE_ACCOUNT_KEY", "account_key"),
        ("AZURE_STORAGE_CONNECTION_STRING", "connection_string"),
        ("AZURE_STORAGE_TOKEN", "bearer_token"),
    ],
)
def test_given_and_ambient_credentials_are_not_mixed(monkeypatch: pytest.MonkeyPatch, variable: str, option: str):
    """The two prefer, each in its way, other credentials to a signature: it would be ignored."""
    monkeypatch.setenv(variable, "AccountName=acme;AccountKey=a2V5")
    with pytest.raises(InvalidInputError, match=f"unset {variable}, or give '{option}' as an option too"):
        OPTIONS.for_lance({"account_name": "acme", "sas_token": "sig=1"})


def test_what_only_adlfs_finds_in_the_environment_pylance_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acme;AccountKey=a2V5")
    assert OPTIONS.for_lance({}) == {"azure_storage_account_name": "acme", "azure_storage_account_key": "a2V5"}


def test_what_pylance_finds_itself_it_is_not_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    assert OPTIONS.for_lance({"account_name": "acme"}) == {"azure_storage_account_name": "acme"}
    assert OPTIONS.for_fsspec({"account_name": "acme"}) == {"account_name": "acme", "account_key": "a2V5"}


def test_a_managed_identity_of_the_environment_is_left_to_the_default_chains(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_CLIENT_ID", "identity")
    assert OPTIONS.for_fsspec({"account_name": "acme"}) == {"account_name": "acme"}


TYPED = [
    name for option in OPTIONS.options.values() if option.type in {boolean, duration} for name in option.lance_names
]


@pytest.mark.parametrize("name", TYPED)
def test_pylance_knows_the_names(name: str):
    """A name it knows, it reads; and what it cannot read it refuses before it asks the store anything."""
    known = OPTIONS.for_lance({"endpoint": "http://127.0.0.1:9", "account_name": "acme"})
    with pytest.raises(ValueError, match="failed to parse"):
        lance.dataset("az://lake/t.lance", storage_options={**known, name: "nonsense"})


def test_adlfs_knows_the_names():
    arguments = {row.fsspec for row in OPTIONS.options.values() if row.fsspec}
    assert arguments <= set(inspect.signature(AzureBlobFileSystem.__init__).parameters)

"""Which account, which door: what adlfs is made of."""

from __future__ import annotations

import asyncio

import pytest
from lance_namespace import InvalidInputError

from lancespace.authoring import Connection
from lancespace_dir_azure import AzureStorage
from lancespace_dir_azure.accounts import EMULATOR

KEY = EMULATOR["account_key"]
NAMED = "abfss://lake@acme.dfs.core.windows.net/root"
plugin = AzureStorage()


@pytest.mark.parametrize(
    ("location", "options"),
    [("az://lake/root", {"account_name": "acme"}), (NAMED, {}), (NAMED, {"account_name": "acme"})],
)
def test_the_account_is_an_option_or_in_the_location(location: str, options: dict[str, str]):
    given = {**options, "account_key": KEY}
    assert plugin.storage_options(location=location, options=given)["azure_storage_account_name"] == "acme"
    filesystem = plugin.filesystem(location=location, options=given)
    assert filesystem.service_client.url == "https://acme.blob.core.windows.net/"
    assert filesystem.service_client.credential.account_key == KEY
    assert not filesystem.dircache.use_listings_cache


@pytest.mark.parametrize(
    ("location", "options", "message"),
    [
        ("az://lake/root", {}, "give the option 'account_name', or name the account in the location"),
        (NAMED, {"account_name": "other"}, "the location names the account 'acme', but 'account_name' is 'other'"),
    ],
)
def test_an_account_that_is_unclear(location: str, options: dict[str, str], message: str):
    for hook in (plugin.storage_options, plugin.filesystem):
        with pytest.raises(InvalidInputError) as caught:
            hook(location=location, options={**options, "account_key": KEY})
        assert message in str(caught.value)


def test_a_signature():
    filesystem = plugin.filesystem(location=NAMED, options={"sas_token": "?sv=1&sig=2"})
    assert filesystem.service_client.url == "https://acme.blob.core.windows.net/?sv=1&sig=2"


def test_nobody_in_particular():
    filesystem = plugin.filesystem(location=NAMED, options={"anon": "true"})
    assert filesystem.service_client.credential is None


def test_adlfs_does_not_look_for_other_credentials(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=acme;AccountKey={KEY}")
    filesystem = plugin.filesystem(location="az://lake", options={"skip_signature": "true"})
    assert filesystem.service_client.credential is None


def test_a_token():
    options = {"token": "eyJ0", "endpoint": "https://acme.blob.core.chinacloudapi.cn"}
    filesystem = plugin.filesystem(location=NAMED, options=options)
    assert filesystem.service_client.url == "https://acme.blob.core.chinacloudapi.cn/"
    assert asyncio.run(filesystem.service_client.credential.get_token("scope")).token == "eyJ0"
    assert filesystem is plugin.filesystem(location=NAMED, options=dict(options))


def test_retries_wait_with_jitter():
    policy = plugin.filesystem(location=NAMED, options={"anon": "true"}).service_client._config.retry_policy
    pauses = {policy.get_backoff_time({"count": 1}) for _ in range(20)}
    assert len(pauses) > 1
    assert 0 <= min(pauses) <= max(pauses) <= 3


def test_a_token_is_not_sent_in_the_clear():
    with pytest.raises(InvalidInputError, match="only sent over HTTPS"):
        plugin.filesystem(location=NAMED, options={"token": "eyJ0", "endpoint": "http://127.0.0.1:9/acme"})


@pytest.mark.parametrize(
    ("location", "known"),
    [
        ("az://lake/t", "az://lake/t"),
        ("abfs://lake/t", "az://lake/t"),
        ("abfs://lake@acme.dfs.core.windows.net/t", "az://lake@acme.dfs.core.windows.net/t"),
        ("abfss://lake@acme.dfs.core.windows.net/t", "abfss://lake@acme.dfs.core.windows.net/t"),
    ],
)
def test_locations_for_pylance(location: str, known: str):
    assert plugin.lance_location(location) == known


@pytest.mark.parametrize("scheme", ["az", "abfs", "abfss"])
def test_a_connection_finds_the_plugin_by_its_scheme(scheme: str):
    options = {"account_name": "acme", "account_key": KEY}
    storage = Connection("memory", {}).storage(f"{scheme}://lake/root", options)
    assert storage.options == {"azure_storage_account_name": "acme", "azure_storage_account_key": KEY}
    assert storage.path() == "lake/root"

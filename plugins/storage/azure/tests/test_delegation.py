"""Signatures by a user delegation key: an azurite with TLS takes Entra's tokens and lends keys, as Azure does.

azurite believes who a token says that its bearer is.
"""

from __future__ import annotations

import ssl
from urllib.parse import parse_qs

import aiohttp.connector
import pytest

from lancespace_dir_azure import AzureStorage
from lancespace_dir_azure.accounts import EMULATOR
from lancespace_dir_azure.vending import PROPERTIES
from plugins.storage.azure.tests.entra import CLAIMS, token


def test_a_signed_in_catalog_signs_with_a_key_that_is_lent(entra_endpoint: str, monkeypatch: pytest.MonkeyPatch):
    """Whether the signature is right, this azurite cannot tell: it knows none as new as those of Azure's SDK."""
    # aiohttp reads the certificates when it is imported; it may have been, with others.
    monkeypatch.setattr(aiohttp.connector, "_SSL_CONTEXT_VERIFIED", ssl.create_default_context())
    settings = {prop.name: prop.default for prop in PROPERTIES}
    own = {"account_name": EMULATOR["account_name"], "endpoint": entra_endpoint, "bearer_token": token()}
    vended = AzureStorage().vend_credentials("az://lake/root/t.lance", own, "read", settings)
    fields = parse_qs(vended.storage_options["azure_storage_sas_key"])
    assert fields["skoid"] == [CLAIMS["oid"]]
    assert fields["sktid"] == [CLAIMS["tid"]]
    assert fields["ske"] == fields["se"]
    assert fields["sr"] == ["d"]
    assert own["bearer_token"] not in str(dict(vended.storage_options))

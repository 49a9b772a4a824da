"""Signatures by a user delegation key: an azurite with TLS takes Entra's tokens and lends keys, as Azure does.

azurite believes who a token says that its bearer is.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lancespace_dir_azure import AzureStorage
from lancespace_dir_azure.accounts import EMULATOR
from lancespace_dir_azure.vending import PROPERTIES
from tests.emulators.azurite import azurite_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLAIMS = {
    "aud": "https://storage.azure.com",
    "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
    "oid": "23657296-5cd5-45b0-a809-d972a7f4dfe1",
    "tid": "dd0d0df1-06c3-436c-8034-4b9a153097ce",
}
NAMES = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that is its own authority, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder(NAMES, NAMES, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(private)
    return folder / "certificate.pem", folder / "key.pem"


def token() -> str:
    """A token as Entra makes them, but for the signature."""
    now = int(time.time())
    times = {"iat": now, "nbf": now - 10, "exp": now + 600}
    parts = [{"alg": "RS256", "typ": "JWT"}, {**CLAIMS, **times}]
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), "x"]
    )


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An azurite with a certificate that Azure's SDK trusts."""
    certificate, key = write_certificate(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with azurite_server("--oauth", "basic", "--cert", str(certificate), "--key", str(key)) as address:
        yield f"{address}/{EMULATOR['account_name']}"


def test_a_signed_in_catalog_signs_with_a_key_that_is_lent(endpoint: str):
    """Whether the signature is right, this azurite cannot tell: it knows none as new as those of Azure's SDK."""
    settings = {prop.name: prop.default for prop in PROPERTIES}
    own = {"account_name": EMULATOR["account_name"], "endpoint": endpoint, "bearer_token": token()}
    vended = AzureStorage().vend_credentials("az://lake/root/t.lance", own, "read", settings)
    fields = parse_qs(vended.storage_options["azure_storage_sas_key"])
    assert fields["skoid"] == [CLAIMS["oid"]]
    assert fields["sktid"] == [CLAIMS["tid"]]
    assert fields["ske"] == fields["se"]
    assert fields["sr"] == ["d"]
    assert own["bearer_token"] not in str(dict(vended.storage_options))

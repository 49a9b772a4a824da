"""Entra, as far as azurite needs it: a certificate for this machine, and tokens, which azurite believes unsigned."""

from __future__ import annotations

import base64
import ipaddress
import json
import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

if TYPE_CHECKING:
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

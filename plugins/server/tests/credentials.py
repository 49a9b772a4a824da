"""Keys, tokens and certificates for the tests, made on the spot."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

ISSUER, AUDIENCE = "https://issuer.example", "lance"
_DAY = dt.timedelta(days=1)


class Signer:
    """An issuer of tokens."""

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def jwks(self) -> str:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return json.dumps({"keys": [{**public, "kid": self.key_id, "alg": "RS256", "use": "sig"}]})

    def token(self, subject: str = "alice", algorithm: str = "RS256", key: Any = None, **claims: Any) -> str:
        body = {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 600, **claims}
        given = {name: value for name, value in body.items() if value is not None}
        return jwt.encode(given, key or self.key, algorithm, headers={"kid": self.key_id})


class Authority:
    """A certificate authority with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test CA")])
        certificate = self._build(self._name, self._key, is_authority=True)
        self.certificate = self._write("ca.pem", certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, common_name: str, organization: str = "Acme") -> tuple[str, str]:
        """A certificate and its key, as paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = {NameOID.ORGANIZATION_NAME: organization, NameOID.COMMON_NAME: common_name}
        name = x509.Name([x509.NameAttribute(kind, value) for kind, value in attributes.items()])
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        public = self._build(name, key, is_authority=False).public_bytes(serialization.Encoding.PEM)
        return self._write(f"{common_name}.pem", public), self._write(f"{common_name}.key", private)

    def _build(self, name: x509.Name, key: Any, *, is_authority: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.timezone.utc)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _write(self, name: str, data: bytes) -> str:
        path = self._folder / name
        path.write_bytes(data)
        return str(path)

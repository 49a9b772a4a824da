"""An authority of our own, and what it signs; made when the tests run."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Signed:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates for one folder of tests."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        own = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        self.certificate = folder / f"{name}.pem"
        self._write(self.certificate, own)

    def sign(self, name: str, *addresses: str) -> Signed:
        """A certificate for a host, or for a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        hosts = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        names = x509.SubjectAlternativeName([x509.DNSName(name), *hosts])
        signed = Signed(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        self._write(
            signed.certificate,
            self._builder(subject, key).add_extension(x509.SubjectAlternativeName(names), critical=False),
        )
        form, encoding = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
        signed.key.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
        return signed

    def server_context(self, signed: Signed, *, clients: Path | None = None) -> ssl.SSLContext:
        """The TLS of a server; with ``clients``, only those with a certificate of that authority come in."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(signed.certificate, signed.key)
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        return context

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.timezone.utc)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
        )

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

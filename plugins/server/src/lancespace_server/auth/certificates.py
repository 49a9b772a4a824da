"""Client certificates: the TLS layer has checked them, the subject is the caller."""

from __future__ import annotations

from typing import Any

_SHORT = {
    "commonName": "CN",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "stateOrProvinceName": "ST",
    "localityName": "L",
}
_SPECIAL = str.maketrans({character: f"\\{character}" for character in ',+"\\<>;='})


def subject_of(certificate: dict[str, Any] | None) -> str:
    """The subject of a certificate as ``ssl`` gives it, e.g. ``CN=alice,O=Acme``; empty if there is none."""
    pairs = [pair for group in (certificate or {}).get("subject", ()) for pair in group]
    return ",".join(f"{_SHORT.get(name, name)}={value.translate(_SPECIAL)}" for name, value in reversed(pairs))

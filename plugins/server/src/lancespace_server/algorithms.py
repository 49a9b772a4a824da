"""Which signature algorithms go with which public keys; nothing else is accepted, least of all a shared secret."""

from __future__ import annotations

from typing import Any

_BY_CURVE = {
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "secp256k1": ("ES256K",),
    "Ed25519": ("EdDSA",),
}
_OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")

KNOWN_ALGORITHMS = frozenset({*_OF_RSA, *(name for names in _BY_CURVE.values() for name in names)})
"""All that can be set: they have a public key, so who can check a signature cannot make one."""


def fitting(jwk: dict[str, Any]) -> tuple[str, ...]:
    """The algorithms that a key of a JWKS may check signatures with: the one that it names, or all of its type."""
    if jwk.get("use", "sig") != "sig" or "verify" not in jwk.get("key_ops", ("verify",)):
        return ()
    of_type = _OF_RSA if jwk.get("kty") == "RSA" else _BY_CURVE.get(str(jwk.get("crv")), ())
    named = jwk.get("alg")
    return tuple(name for name in of_type if named in {None, name})

"""Bearer tokens: JWTs of an issuer that the server trusts."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

import jwt
from lance_namespace import UnauthenticatedError

from lancespace_server.auth.jwks import Jwks

if TYPE_CHECKING:
    from lancespace_server.settings import ServerSettings

_LEEWAY_SECONDS = 30
_REMEMBERED = 4096
_REMEMBER_SECONDS = 60.0


class Tokens:
    """Checks signature, algorithm, issuer, audience and times; the subject is the caller.

    A token that was found good is remembered for a short while: a signature takes longer to check than a table to find.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._jwks = Jwks(settings.jwt_jwks or "")
        self._algorithms = list(settings.jwt_algorithms)
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._known: dict[bytes, tuple[float, str]] = {}

    def remembered(self, token: str) -> str | None:
        """The subject, if the token was found good a moment ago."""
        until, subject = self._known.get(_digest(token), (0.0, ""))
        return subject if time.time() < until else None

    def subject(self, token: str) -> str:
        """Check a token; this may have to fetch keys.

        Raises:
            UnauthenticatedError: If it is not good; what exactly is wrong with the signature is not told.
        """
        try:
            key = self._jwks.find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                raise UnauthenticatedError("The bearer token is signed with a key that this server does not know.")
            claims = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,
                issuer=self._issuer,
                audience=self._audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise UnauthenticatedError(f"The bearer token is not valid: {error}") from error
        return self._remember(token, str(claims["sub"]), float(claims["exp"]))

    def _remember(self, token: str, subject: str, expires: float) -> str:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[_digest(token)] = (min(expires, time.time() + _REMEMBER_SECONDS), subject)
        return subject


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

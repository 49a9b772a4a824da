"""Bearer tokens: JWTs of an issuer that the server trusts."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import jwt
from lance_namespace import UnauthenticatedError

from lancespace_server.auth.jwks import Jwks, Key

if TYPE_CHECKING:
    from lancespace_server.settings import ServerSettings

_LEEWAY_SECONDS = 30
_REMEMBERED = 4096
_REMEMBER_SECONDS = 60.0


class Tokens:
    """Checks signature, algorithm, issuer, audience and times; the subject is the caller.

    A token that was found good is remembered for a short while: a signature takes longer to check than a table to find.
    """

    def __init__(self, settings: ServerSettings, source: str) -> None:
        self._jwks = Jwks(source)
        self._algorithms = frozenset(settings.jwt_algorithms)
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._known: dict[bytes, tuple[float, str]] = {}

    def quickly(self, token: str) -> str | None:
        """The subject, if its key is at hand, so that nobody who has one waits for the source of the keys; or None.

        Raises:
            UnauthenticatedError: As :meth:`subject` does.
        """
        until, subject = self._known.get(_digest(token), (0.0, ""))
        if time.time() < until:
            return subject
        return self._checked(token, self._jwks.at_hand)

    def subject(self, token: str) -> str:
        """Check a token; this may have to fetch keys.

        Raises:
            UnauthenticatedError: If it is not good; what exactly is wrong with the signature is not told.
        """
        subject = self._checked(token, self._jwks.find)
        if subject is None:
            raise UnauthenticatedError("The bearer token is signed with a key that this server does not know.")
        return subject

    def _checked(self, token: str, find: Callable[[str | None], Key | None]) -> str | None:
        """The subject of a good token; None if its key is not found."""
        try:
            key = find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                return None
            algorithms = self._algorithms.intersection(key.algorithms)
            if not algorithms:
                raise jwt.InvalidAlgorithmError("its key is for algorithms that are not accepted")
            claims = jwt.decode(
                token,
                key.public,
                algorithms=list(algorithms),
                issuer=self._issuer,
                audience=self._audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise UnauthenticatedError(f"The bearer token is not valid: {error}") from error
        if not isinstance(claims["sub"], str) or not claims["sub"].strip():
            raise UnauthenticatedError("The bearer token is not valid: its subject ('sub') names nobody.")
        return self._remember(token, claims["sub"], float(claims["exp"]))

    def _remember(self, token: str, subject: str, expires: float) -> str:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[_digest(token)] = (min(expires, time.time() + _REMEMBER_SECONDS), subject)
        return subject


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

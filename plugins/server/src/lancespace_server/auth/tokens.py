"""Bearer tokens: JWTs of an issuer that the server trusts."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jwt
from lance_namespace import UnauthenticatedError

from lancespace.authoring import Principal
from lancespace_server.auth.jwks import Jwks, Key
from lancespace_server.reloading import Reloaded

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
        self._source = Jwks(source)
        self._file = None if self._source.is_remote else Reloaded(source, _readable)
        self._algorithms = frozenset(settings.jwt_algorithms)
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._roles_claim = settings.jwt_roles_claim
        self._known: dict[bytes, tuple[float, Principal, Jwks]] = {}

    @property
    def _jwks(self) -> Jwks:
        """Another one, once the file has changed."""
        return self._source if self._file is None else self._file.value

    def quickly(self, token: str) -> Principal | None:
        """The caller, if the token's key is at hand: nobody who has one waits for the source of the keys. Or None.

        Raises:
            UnauthenticatedError: As :meth:`principal` does.
        """
        until, principal, jwks = self._known.get(_digest(token), (0.0, None, None))
        if time.time() < until and jwks is self._jwks:
            return principal
        return self._checked(token, Jwks.at_hand)

    def principal(self, token: str) -> Principal:
        """Check a token; this may have to fetch keys.

        Raises:
            UnauthenticatedError: If it is not good; what exactly is wrong with the signature is not told.
        """
        principal = self._checked(token, Jwks.find)
        if principal is None:
            raise UnauthenticatedError("The bearer token is signed with a key that this server does not know.")
        return principal

    def _checked(self, token: str, find: Callable[[Jwks, str | None], Key | None]) -> Principal | None:
        """Whom a good token names; None if its key is not found."""
        jwks = self._jwks
        try:
            key = find(jwks, jwt.get_unverified_header(token).get("kid"))
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
        except RecursionError as error:
            raise UnauthenticatedError("The bearer token is not valid: its JSON is nested too deeply.") from error
        if not isinstance(claims["sub"], str) or not claims["sub"].strip() or not claims["sub"].isprintable():
            raise UnauthenticatedError("The bearer token is not valid: its subject ('sub') names nobody.")
        roles = () if self._roles_claim is None else _roles(claims, self._roles_claim)
        principal = Principal(f"jwt:{claims['sub']}", roles)
        self._remember(token, int(claims["exp"]), principal, jwks)
        return principal

    def _remember(self, token: str, expires: int, principal: Principal, jwks: Jwks) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[_digest(token)] = (min(expires, time.time() + _REMEMBER_SECONDS), principal, jwks)


def _readable(path: str) -> Jwks:
    """The keys of a file, read already."""
    jwks = Jwks(path)
    jwks.find(None)
    return jwks


def _roles(claims: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    """The roles in a claim, which is called that or, with dots, is at the end of a path; none if it is not there."""
    found: Any = claims
    for name in [claim] if claim in claims else claim.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    listed = [found] if isinstance(found, str) else found or []
    if not isinstance(listed, list) or not all(isinstance(role, str) and role.isprintable() for role in listed):
        raise UnauthenticatedError(f"The bearer token is not valid: its claim {claim!r} is neither a text nor a list.")
    return tuple(sorted(set(listed)))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

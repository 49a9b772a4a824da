"""A bearer token that someone else obtained, as Azure's SDK wants to be given it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azure.core.credentials import AccessToken

_NEVER = 2**40  # Its expiry is not ours to know: the service refuses it when the time has come.


class StaticToken:
    """A credential that always has the same token; it implements Azure's ``AsyncTokenCredential``."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        """The token, whatever it is asked for."""
        from azure.core.credentials import AccessToken

        return AccessToken(self._token, _NEVER)

    async def close(self) -> None:
        """Nothing is held open."""


@functools.lru_cache(maxsize=128)
def static_token(token: str) -> StaticToken:
    """Equal tokens are one object, so that fsspec finds the file system it has made."""
    return StaticToken(token)

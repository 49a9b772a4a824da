"""Who the catalog is, as Azure's SDK wants to be told: by a token that someone else obtained, or by signing in."""

from __future__ import annotations

import functools
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

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


class HeldToken:
    """The same for the SDK's clients that do not wait: it implements Azure's ``TokenCredential``."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        """The token, whatever it is asked for."""
        from azure.core.credentials import AccessToken

        return AccessToken(self._token, _NEVER)


def sign_in(settings: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """The identity that the options give, by our names for them, or else the first of Azure's default chain."""
    from azure.identity import ClientSecretCredential, DefaultAzureCredential

    if "bearer_token" in settings:
        return nullcontext(HeldToken(settings["bearer_token"]))
    if "client_secret" in settings:
        principal = settings["tenant_id"], settings["client_id"], settings["client_secret"]
        return closing(ClientSecretCredential(*principal))
    return closing(DefaultAzureCredential())

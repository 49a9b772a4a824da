"""From the credentials of a request to the principal that acts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lance_namespace import UnauthenticatedError

from lancespace_server.auth.apikeys import ApiKeys
from lancespace_server.auth.tokens import Tokens
from lancespace_server.principals import ANONYMOUS
from lancespace_server.settings import API_KEYS_VARIABLE

if TYPE_CHECKING:
    from lancespace_server.headers import Headers
    from lancespace_server.settings import ServerSettings


class Authenticator:
    """Knows which methods are on. A credential that is given must be good, whichever others are given beside it."""

    def __init__(self, settings: ServerSettings) -> None:
        self._keys = ApiKeys.load(settings.api_keys, os.environ.get(API_KEYS_VARIABLE, ""))
        self._tokens = Tokens(settings) if settings.jwt_jwks else None
        self._certificates = settings.tls_client_ca is not None
        self.is_on = bool(self._keys or self._tokens or self._certificates)

    def quickly(self, headers: Headers, subject: str) -> str | None:
        """The principal if that takes no time to find out; None if :meth:`thoroughly` must be asked.

        ``subject`` is that of a client certificate, which the TLS layer has checked.

        Raises:
            UnauthenticatedError: If there is no credential that counts here, or a wrong one.
        """
        if not self.is_on:
            return ANONYMOUS
        if self._keys and headers.api_key:
            return self._by_key(headers.api_key)
        if self._tokens and (token := headers.bearer()):
            known = self._tokens.remembered(token)
            return None if known is None else f"jwt:{known}"
        if self._certificates and subject:
            return f"cert:{subject}"
        raise UnauthenticatedError(f"Who are you? Send {self._expected()}.")

    def thoroughly(self, headers: Headers) -> str:
        """The principal of a bearer token; keys may have to be fetched, so this is not for the event loop."""
        if self._tokens is None:
            raise UnauthenticatedError(f"Bearer tokens are not accepted: send {self._expected()}.")
        return f"jwt:{self._tokens.subject(headers.bearer())}"

    def _by_key(self, key: bytes) -> str:
        name = self._keys.principal(key)
        if name is None:
            raise UnauthenticatedError("The API key of the header x-api-key is not known to this server.")
        return f"key:{name}"

    def _expected(self) -> str:
        ways = [
            "an API key in the header x-api-key" if self._keys else "",
            "a bearer token in the header Authorization" if self._tokens else "",
            "a client certificate" if self._certificates else "",
        ]
        return " or ".join(filter(None, ways))

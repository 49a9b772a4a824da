"""From the credentials of a request to the principal that acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import UnauthenticatedError

from lancespace.authoring import Principal
from lancespace_server.auth.apikeys import watched
from lancespace_server.auth.tokens import Tokens
from lancespace_server.principals import ANONYMOUS

if TYPE_CHECKING:
    from lancespace_server.headers import Headers
    from lancespace_server.settings import ServerSettings


class Authenticator:
    """Knows which methods are on. A credential that is given must be good, whichever others are given beside it.

    What was given to us to let somebody in is taken out of the headers then: it is for nobody behind us.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._keys = watched(settings.api_keys)
        self._tokens = None if settings.jwt_jwks is None else Tokens(settings, settings.jwt_jwks)
        self._certificates = settings.tls_client_ca is not None
        self.is_on = self._keys() is not None or self._tokens is not None or self._certificates

    def quickly(self, headers: Headers, subject: str) -> Principal | None:
        """The principal if that takes no time to find out; None if :meth:`thoroughly` must be asked.

        ``subject`` is that of a client certificate, which the TLS layer has checked.

        Raises:
            UnauthenticatedError: If there is no credential that counts here, or a wrong one.
        """
        if not self.is_on:
            return ANONYMOUS
        by_token = None
        if self._tokens is not None and (token := headers.bearer()):
            by_token = self._tokens.quickly(token)
            if by_token is None:
                return None
        return self._principal(headers, by_token, subject)

    def thoroughly(self, headers: Headers, subject: str) -> Principal:
        """The same; keys of tokens may have to be fetched, so this is not for the event loop."""
        token = headers.bearer()
        by_token = self._tokens.principal(token) if self._tokens is not None and token else None
        return self._principal(headers, by_token, subject)

    def _principal(self, headers: Headers, by_token: Principal | None, subject: str) -> Principal:
        """Who acts, of all that were named by good credentials."""
        by_key = self._by_key(headers)
        if self._tokens is not None:
            headers.authorization = b""
        if by_key is not None:
            return Principal(by_key)
        if by_token is not None:
            return by_token
        if self._certificates and subject:
            return Principal(f"cert:{subject}")
        raise UnauthenticatedError(f"Who are you? Send {self._expected()}.")

    def _by_key(self, headers: Headers) -> str | None:
        keys = self._keys()
        if keys is None or not headers.api_key:
            return None
        name = keys.principal(headers.api_key)
        if name is None:
            raise UnauthenticatedError("The API key of the header x-api-key is not known to this server.")
        headers.api_key = b""
        return name

    def _expected(self) -> str:
        ways = [
            "an API key in the header x-api-key" if self._keys() else "",
            "a bearer token in the header Authorization" if self._tokens else "",
            "a client certificate" if self._certificates else "",
        ]
        return " or ".join(filter(None, ways))

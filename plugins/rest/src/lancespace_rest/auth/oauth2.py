"""OAuth 2 client credentials: the client fetches tokens itself, and fetches a new one before the old one ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace.properties import Property, Settings
from lancespace_rest import deadlines
from lancespace_rest.auth import AuthMethod, Call
from lancespace_rest.auth.endpoint import TokenEndpoint
from lancespace_rest.headers import AUTHORIZATION

if TYPE_CHECKING:
    from lancespace_rest.sessions import HttpSession

_EARLY = 0.1
"""The part of a token's life in which it is already renewed, so that none ends on its way."""


@dataclass(frozen=True, eq=False)
class _Token:
    """A token that was fetched once. An endpoint may answer the same text again: it is another one all the same."""

    headers: Mapping[str, str]
    renew_at: float

    def serves(self, call: Call) -> bool:
        """Whether to send it: it still lives, and is not what the server has just refused."""
        return self.headers is not call.credentials and time.monotonic() < self.renew_at


class ClientCredentialsAuth(AuthMethod):
    """One token for all threads; while one of them fetches the next, the others wait for it."""

    properties = (
        Property("token_url", "The token endpoint", required=True),
        Property("client_id", "The client", required=True),
        Property("client_secret", "Its secret", required=True, secret=True),
        Property("scope", "Scopes to ask for, separated by spaces"),
        Property("audience", "Audience to ask for, where the endpoint wants one"),
    )
    header = AUTHORIZATION

    def __init__(self, settings: Settings, session: HttpSession) -> None:
        super().__init__(settings, session)
        self._endpoint = TokenEndpoint(settings, session)
        self._fetching = threading.Lock()
        self._token = _Token({}, float("-inf"))

    def headers(self, call: Call) -> Mapping[str, str]:
        """The ``Authorization`` header, with a token that still lives."""
        token = self._token
        return token.headers if token.serves(call) else self._renewed(call).headers

    def _renewed(self, call: Call) -> _Token:
        with self._turn():
            if not self._token.serves(call):  # Otherwise another thread has just renewed it.
                text, life = self._endpoint.fetch()
                renew_at = time.monotonic() + life * (1 - _EARLY)
                self._token = _Token({AUTHORIZATION: f"Bearer {text}"}, renew_at)
            return self._token

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for whoever is fetching, as long as the operation has time."""
        deadline = deadlines.current()
        while not self._fetching.acquire(timeout=min(deadline.remaining(), threading.TIMEOUT_MAX)):
            pass
        try:
            yield
        finally:
            self._fetching.release()

"""OAuth 2 client credentials: the client fetches tokens itself, and fetches a new one before the old one ends."""

from __future__ import annotations

import base64
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import requests
from lance_namespace import LanceNamespaceError, ServiceUnavailableError, UnauthenticatedError

from lancespace.properties import Property, Settings, redact_url
from lancespace_rest import failures
from lancespace_rest.auth import AuthMethod, Call
from lancespace_rest.headers import AUTHORIZATION, checked

if TYPE_CHECKING:
    from collections.abc import Mapping

_EARLY = 0.1
"""The part of a token's life in which it is already renewed, so that none ends on its way."""
_LIFE = 3600.0
"""Seconds that a token lives if the endpoint does not say."""
_SERVER_ERROR = 500


class ClientCredentialsAuth(AuthMethod):
    """One token for all threads; while one of them fetches the next, the others wait for it."""

    properties = (
        Property("token_url", "The token endpoint", required=True),
        Property("client_id", "The client", required=True),
        Property("client_secret", "Its secret", required=True, secret=True),
        Property("scope", "Scopes to ask for, separated by spaces"),
        Property("audience", "Audience to ask for, where the endpoint wants one"),
    )

    def __init__(self, settings: Settings, session: requests.Session) -> None:
        super().__init__(settings, session)
        self._fetching = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def headers(self, call: Call) -> Mapping[str, str]:
        """The ``Authorization`` header, with a token that still lives."""
        seen = self._token
        if call.refused or time.monotonic() >= self._renew_at:
            with self._fetching:
                if self._token == seen:  # Otherwise another thread has just renewed it.
                    self._renew()
        return checked({AUTHORIZATION: f"Bearer {self._token}"})

    def _renew(self) -> None:
        answer = self._fetch()
        token, life = answer.get("access_token"), answer.get("expires_in", _LIFE)
        if not isinstance(token, str) or not token:
            raise UnauthenticatedError(f"The token endpoint {self._endpoint} answered without an access_token.")
        seconds = (
            float(life) if isinstance(life, (int, float, str)) and str(life).replace(".", "", 1).isdecimal() else _LIFE
        )
        self._token, self._renew_at = token, time.monotonic() + seconds * (1 - _EARLY)

    def _fetch(self) -> dict[str, Any]:
        form = {
            "grant_type": "client_credentials",
            "scope": self.settings["scope"],
            "audience": self.settings["audience"],
        }
        pair = f"{quote_plus(self.settings['client_id'])}:{quote_plus(self.settings['client_secret'])}"
        headers = {AUTHORIZATION: f"Basic {base64.b64encode(pair.encode()).decode()}", "Accept": "application/json"}
        try:
            answer = self.session.post(
                self.settings["token_url"], data=form, headers=headers, allow_redirects=False, stream=False
            )
        except requests.RequestException as error:
            root = failures.root_of(error)
            raise ServiceUnavailableError(f"The token endpoint {self._endpoint} cannot be reached: {root}.") from root
        if not answer.ok:
            raise self._refusal(answer)
        return _object(answer)

    def _refusal(self, answer: requests.Response) -> LanceNamespaceError:
        """The endpoint's error code tells why; nothing else of its answer is shown, since it may quote the request."""
        code = _object(answer).get("error")
        why = f"{answer.status_code}" + (f", {failures.shortened(code)}" if isinstance(code, str) else "")
        client = self.settings["client_id"]
        if answer.status_code >= _SERVER_ERROR:
            return ServiceUnavailableError(f"The token endpoint {self._endpoint} failed ({why}).")
        return UnauthenticatedError(f"The token endpoint {self._endpoint} refused the client {client!r} ({why}).")

    @property
    def _endpoint(self) -> str:
        return redact_url(self.settings["token_url"])


def _object(answer: requests.Response) -> dict[str, Any]:
    try:
        value = answer.json()
    except requests.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}

"""OAuth 2 client credentials: the client fetches tokens itself, and fetches a new one before the old one ends."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import requests
from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)

from lancespace.authoring import Property, Settings, redact
from lancespace_rest import deadlines, errors, retries
from lancespace_rest.addresses import is_http
from lancespace_rest.auth import AuthMethod, Call
from lancespace_rest.headers import AUTHORIZATION
from lancespace_rest.responses import read, read_error
from lancespace_rest.sessions import HttpSession

_EARLY = 0.1
"""The part of a token's life in which it is already renewed, so that none ends on its way."""
_LIFE = 3600.0
"""Seconds that a token lives if the endpoint does not say."""
_REQUEST_TIMEOUT = 408
_SERVER_ERROR = 500


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
        self._fetching = threading.Lock()
        self._token = _Token({}, float("-inf"))
        self._endpoint = redact(re.split("[?#]", settings["token_url"])[0])
        if not is_http(settings["token_url"]):
            raise InvalidInputError(
                "rest: the property 'rest.auth.oauth2.token_url' must be like https://host/token, "
                f"not {self._endpoint!r}."
            )

    def headers(self, call: Call) -> Mapping[str, str]:
        """The ``Authorization`` header, with a token that still lives."""
        token = self._token
        return token.headers if token.serves(call) else self._renewed(call).headers

    def _renewed(self, call: Call) -> _Token:
        deadline = deadlines.current()
        while not self._fetching.acquire(timeout=min(deadline.remaining(), threading.TIMEOUT_MAX)):
            pass
        try:
            if not self._token.serves(call):  # Otherwise another thread has just renewed it.
                text, life = self._fetch()
                renew_at = time.monotonic() + life * (1 - _EARLY)
                self._token = _Token({AUTHORIZATION: f"Bearer {text}"}, renew_at)
            return self._token
        finally:
            self._fetching.release()

    def _fetch(self) -> tuple[str, float]:
        """A token, and the seconds that it lives; asked for again where that may succeed, since it does no harm.

        Raises:
            UnauthenticatedError: If the endpoint refuses the client.
            ThrottlingError: If it wants to be asked less often.
            ServiceUnavailableError: If it cannot be reached, or fails.
        """
        deadline = deadlines.current()
        attempts = retries.Attempts(self.session.retries, deadline)
        while True:
            failure: Exception
            try:
                answer = self._post()
                fields = errors.fields_of(read(answer, deadline) if answer.ok else read_error(answer, deadline))
            except errors.BROKEN as error:
                failure = error
            else:
                if answer.ok:
                    return self._token_in(fields)
                asked = retries.retry_after(answer.headers.get("retry-after"))
                if answer.status_code not in retries.PASSING or not attempts.wait(asked):
                    raise self._refusal(answer.status_code, fields)
                continue
            deadline.remaining()
            if not errors.is_passing(failure) or not attempts.wait():
                reason = errors.reason_of(failure)
                raise ServiceUnavailableError(
                    f"The token endpoint {self._endpoint} cannot be reached: {reason}."
                ) from errors.root_of(failure)

    def _post(self) -> requests.Response:
        pair = f"{quote_plus(self.settings['client_id'])}:{quote_plus(self.settings['client_secret'])}"
        headers = {AUTHORIZATION: f"Basic {base64.b64encode(pair.encode()).decode()}", "Accept": "application/json"}
        form = {name: self.settings[name] for name in ("scope", "audience")}
        form["grant_type"] = "client_credentials"
        url = self.settings["token_url"]
        return self.session.post(url, data=form, headers=headers, allow_redirects=False, stream=True)

    def _token_in(self, fields: dict[str, Any]) -> tuple[str, float]:
        token, life = fields.get("access_token"), fields.get("expires_in", _LIFE)
        if not isinstance(token, str) or not token:
            raise UnauthenticatedError(f"The token endpoint {self._endpoint} answered without an access_token.")
        is_number = isinstance(life, (int, float, str)) and str(life).replace(".", "", 1).isdecimal()
        return token, float(life) if is_number else _LIFE

    def _refusal(self, status: int, fields: dict[str, Any]) -> LanceNamespaceError:
        """The endpoint's error code tells why; nothing else of its answer is shown, since it may quote the request."""
        code = fields.get("error")
        why = f"{status}" + (f", {errors.shortened(code)}" if isinstance(code, str) else "")
        if status == retries.TOO_MANY_REQUESTS:
            return ThrottlingError(f"The token endpoint {self._endpoint} wants to be asked less often ({why}).")
        if status >= _SERVER_ERROR or status == _REQUEST_TIMEOUT:
            return ServiceUnavailableError(f"The token endpoint {self._endpoint} failed ({why}).")
        return UnauthenticatedError(
            f"The token endpoint {self._endpoint} refused the client {self.settings['client_id']!r} ({why})."
        )

"""The token endpoint of OAuth 2: one form that is posted, and the token that comes back."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlsplit

import requests
from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)

from lancespace.errors import redact
from lancespace_rest import causes, deadlines, failures, retries
from lancespace_rest.headers import AUTHORIZATION
from lancespace_rest.reading import BROKEN, read, read_error

if TYPE_CHECKING:
    from lancespace.properties import Settings
    from lancespace_rest.sessions import HttpSession

_LIFE = 3600.0
"""Seconds that a token lives if the endpoint does not say."""
_REQUEST_TIMEOUT = 408
_SERVER_ERROR = 500


class TokenEndpoint:
    """Fetches tokens; asking twice does no harm, so it is asked again where another time may go better."""

    def __init__(self, settings: Settings, session: HttpSession) -> None:
        self._url: str = settings["token_url"]
        self._client: str = settings["client_id"]
        self._secret: str = settings["client_secret"]
        self._form = {
            "grant_type": "client_credentials",
            "scope": settings["scope"],
            "audience": settings["audience"],
        }
        self._session = session
        self._name = redact(re.split("[?#]", self._url)[0])
        _check(self._url, self._name)

    def fetch(self) -> tuple[str, float]:
        """A token, and the seconds that it lives.

        Raises:
            UnauthenticatedError: If the endpoint refuses the client.
            ThrottlingError: If it wants to be asked less often.
            ServiceUnavailableError: If it cannot be reached, or fails.
        """
        deadline = deadlines.current()
        attempts = retries.Attempts(self._session.retries, deadline)
        while True:
            failure: Exception
            try:
                answer = self._post()
                fields = _fields(read(answer, deadline) if answer.ok else read_error(answer, deadline))
            except BROKEN as error:
                failure = error
            else:
                if answer.ok:
                    return self._token(fields)
                asked = retries.retry_after(answer.headers.get("retry-after"))
                if answer.status_code not in retries.PASSING or not attempts.wait(asked):
                    raise self._refusal(answer.status_code, fields)
                continue
            deadline.remaining()
            if not causes.is_passing(failure) or not attempts.wait():
                raise self._unreachable(failure) from causes.root_of(failure)

    def _post(self) -> requests.Response:
        pair = f"{quote_plus(self._client)}:{quote_plus(self._secret)}"
        headers = {AUTHORIZATION: f"Basic {base64.b64encode(pair.encode()).decode()}", "Accept": "application/json"}
        return self._session.post(self._url, data=self._form, headers=headers, allow_redirects=False, stream=True)

    def _token(self, fields: dict[str, Any]) -> tuple[str, float]:
        token, life = fields.get("access_token"), fields.get("expires_in", _LIFE)
        if not isinstance(token, str) or not token:
            raise UnauthenticatedError(f"The token endpoint {self._name} answered without an access_token.")
        is_number = isinstance(life, (int, float, str)) and str(life).replace(".", "", 1).isdecimal()
        return token, float(life) if is_number else _LIFE

    def _refusal(self, status: int, fields: dict[str, Any]) -> LanceNamespaceError:
        """The endpoint's error code tells why; nothing else of its answer is shown, since it may quote the request."""
        code = fields.get("error")
        why = f"{status}" + (f", {failures.shortened(code)}" if isinstance(code, str) else "")
        if status == retries.TOO_MANY_REQUESTS:
            return ThrottlingError(f"The token endpoint {self._name} wants to be asked less often ({why}).")
        if status >= _SERVER_ERROR or status == _REQUEST_TIMEOUT:
            return ServiceUnavailableError(f"The token endpoint {self._name} failed ({why}).")
        return UnauthenticatedError(f"The token endpoint {self._name} refused the client {self._client!r} ({why}).")

    def _unreachable(self, failure: Exception) -> LanceNamespaceError:
        reason = causes.reason_of(failure)
        return ServiceUnavailableError(f"The token endpoint {self._name} cannot be reached: {reason}.")


def _check(url: str, name: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidInputError(
            f"rest: the property 'rest.auth.oauth2.token_url' must be like https://host/token, not {name!r}."
        )


def _fields(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

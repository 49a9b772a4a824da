"""Auth methods whose credentials are properties."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from lance_namespace import InvalidInputError

from lancespace.authoring import Property, Settings
from lancespace_rest.auth import AuthMethod, Call
from lancespace_rest.headers import API_KEY, AUTHORIZATION
from lancespace_rest.sessions import HttpSession


class BearerAuth(AuthMethod):
    """A token that somebody else renews, or that lives long."""

    properties = (Property("token", "The bearer token", required=True, secret=True),)
    header = AUTHORIZATION

    def headers(self, call: Call) -> Mapping[str, str]:  # noqa: ARG002 - the same for every call
        """The ``Authorization`` header."""
        return {AUTHORIZATION: f"Bearer {self.settings['token']}"}


class ApiKeyAuth(AuthMethod):
    """The spec's API key."""

    properties = (Property("key", "The API key", required=True, secret=True),)
    header = API_KEY

    def headers(self, call: Call) -> Mapping[str, str]:  # noqa: ARG002 - the same for every call
        """The ``x-api-key`` header."""
        return {API_KEY: self.settings["key"]}


class BasicAuth(AuthMethod):
    """A user and a password."""

    properties = (
        Property("username", "The user", required=True),
        Property("password", "The password", required=True, secret=True),
    )
    header = AUTHORIZATION

    def __init__(self, settings: Settings, session: HttpSession) -> None:
        super().__init__(settings, session)
        if ":" in settings["username"]:  # The first colon ends the name, so another user would be asked in.
            raise InvalidInputError("rest: the property 'rest.auth.basic.username' must not contain a colon.")

    def headers(self, call: Call) -> Mapping[str, str]:  # noqa: ARG002 - the same for every call
        """The ``Authorization`` header."""
        pair = f"{self.settings['username']}:{self.settings['password']}"
        return {AUTHORIZATION: f"Basic {base64.b64encode(pair.encode()).decode()}"}

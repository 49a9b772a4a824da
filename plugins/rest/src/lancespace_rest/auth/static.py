"""Auth methods whose credentials are properties."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from lancespace.properties import Property
from lancespace_rest.auth import AuthMethod, Call
from lancespace_rest.headers import API_KEY, AUTHORIZATION, checked

if TYPE_CHECKING:
    from collections.abc import Mapping


class BearerAuth(AuthMethod):
    """A token that somebody else renews, or that lives long."""

    properties = (Property("token", "The bearer token", required=True, secret=True),)

    def headers(self, call: Call) -> Mapping[str, str]:  # noqa: ARG002 - the same for every call
        """The ``Authorization`` header."""
        return checked({AUTHORIZATION: f"Bearer {self.settings['token']}"})


class ApiKeyAuth(AuthMethod):
    """The spec's API key."""

    properties = (Property("key", "The API key", required=True, secret=True),)

    def headers(self, call: Call) -> Mapping[str, str]:  # noqa: ARG002 - the same for every call
        """The ``x-api-key`` header."""
        return checked({API_KEY: self.settings["key"]})


class BasicAuth(AuthMethod):
    """A user and a password."""

    properties = (
        Property("username", "The user", required=True),
        Property("password", "The password", required=True, secret=True),
    )

    def headers(self, call: Call) -> Mapping[str, str]:  # noqa: ARG002 - the same for every call
        """The ``Authorization`` header."""
        pair = f"{self.settings['username']}:{self.settings['password']}"
        return {AUTHORIZATION: f"Basic {base64.b64encode(pair.encode()).decode()}"}

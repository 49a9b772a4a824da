"""Who gets as far as an operation: no web pages from elsewhere, and only callers that are known."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, PermissionDeniedError, ServiceUnavailableError

from lancespace_server.deadlines import Deadline
from lancespace_server.settings import is_loopback

if TYPE_CHECKING:
    from lancespace.authoring import Principal
    from lancespace_server.request import Request
    from lancespace_server.services import Services


_MOST_SECONDS = 15.0
"""For so long a caller waits while the keys of tokens are fetched; that itself gives up sooner, if nothing comes."""


class Guard:
    """Stands before authentication too: a browser on this machine must not be a way around it."""

    def __init__(self, services: Services) -> None:
        self._authenticator = services.authenticator
        self._threads = services.authentication_threads
        self._origins = {origin.encode() for origin in services.settings.cors_origins}
        self._only_local = not self._authenticator.is_on and not services.settings.no_authentication

    async def admit(self, request: Request) -> Principal:
        """The principal that is calling.

        Raises:
            InvalidInputError: If it sends two credentials of a kind.
            PermissionDeniedError: If a web page is calling that may not.
            UnauthenticatedError: If nobody is known to be calling.
            ServiceUnavailableError: If that cannot be found out now.
        """
        principal = self.quickly(request)
        if principal is not None:
            return principal
        job = self._threads.start(lambda: self._authenticator.thoroughly(request.headers, request.subject))
        with Deadline(_MOST_SECONDS, _unknown):
            found: Principal = await job.future
        return found

    def quickly(self, request: Request) -> Principal | None:
        """The same, if that takes no time to find out; None if it does."""
        headers = request.headers
        if headers.repeated:
            raise InvalidInputError(
                "A header x-api-key, Authorization, Content-Encoding or Idempotency-Key is repeated: send one of each."
            )
        if headers.origin and headers.origin not in self._origins:
            raise PermissionDeniedError("Web pages of this origin may not call the server (setting cors_origins).")
        if self._only_local and headers.host and not _is_local(headers.host.decode("latin-1")):
            raise PermissionDeniedError(
                "Without authentication the server answers to localhost only, lest a web page with a name of its own "
                "for this machine gets in: call it by 127.0.0.1 or localhost, or set up authentication."
            )
        return self._authenticator.quickly(headers, request.subject)


def _unknown() -> Exception:
    return ServiceUnavailableError("The keys of bearer tokens do not come in time: try again in a moment.")


@functools.lru_cache(maxsize=64)
def _is_local(host: str) -> bool:
    """Whether a Host header names this machine by a name that nobody else can give it."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return is_loopback(name)

"""The whole server as one ASGI application."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace_server.authorization import policy_path
from lancespace_server.exchange import path_of
from lancespace_server.operations import OperationsApp
from lancespace_server.pages import Pages
from lancespace_server.services import Services
from lancespace_tables import Limits

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_server.reports import Reports
    from lancespace_server.request import AtOnce
    from lancespace_server.settings import ServerSettings
    from lancespace_server.types import App, Receive, Scope, Send

_PREFIX = "/v1/"


def create_app(namespace: Namespace, settings: ServerSettings) -> App:
    """An ASGI application that serves a namespace; it closes the namespace when it ends.

    Raises:
        InvalidInputError: If the settings would be unsafe or cannot work, or have a policy that the namespace has not.
    """
    settings.check()
    if settings.policy is not None and policy_path(namespace.connection_args()[1]) != settings.policy:
        raise InvalidInputError(
            f"The namespace does not enforce the policy {settings.policy!r}: connect to it with "
            "lancespace_server.serving.open_namespace(backend, properties, settings)."
        )
    namespace.limit_expressions(Limits(functions=frozenset(map(str.lower, settings.functions))))
    services = Services.start(namespace, settings)
    operations, pages, lifespan = OperationsApp(services), Pages(services), _Lifespan(services)
    app = _Split(operations, pages, lifespan, services.reports, operations.at_once)
    if not settings.cors_origins:
        return app
    from lancespace_server.cors import with_cors

    cors = with_cors(app, settings.cors_origins)
    return _Split(cors, cors, lifespan, services.reports)


class _Split:
    """Sends each request to the application that it is for."""

    def __init__(
        self, operations: App, pages: App, lifespan: App, reports: Reports, at_once: AtOnce | None = None
    ) -> None:
        self._operations = operations
        self._pages = pages
        self._lifespan = lifespan
        self.reports = reports
        """For what our HTTP protocol refuses itself."""
        self.strangers: Counter[str] = Counter()
        """How many connections each address has on which nobody is known yet; our HTTP protocol counts them."""
        self.at_once = at_once
        """A way around ASGI that our HTTP protocol takes if there is one; with CORS there is none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one connection."""
        if scope["type"] != "http":
            await self._lifespan(scope, receive, send)
        elif path_of(scope).startswith(_PREFIX):
            await self._operations(scope, receive, send)
        else:
            await self._pages(scope, receive, send)


class _Lifespan:
    """Ends what the server began, once the HTTP server says that no request will come."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Follow ASGI's protocol for the life of an application."""
        if scope["type"] != "lifespan":
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._end()
        await send({"type": "lifespan.shutdown.complete"})

    async def _end(self) -> None:
        services = self._services
        services.readiness.stop()
        services.authentication_threads.close(0)
        services.parser.close(0)
        await asyncio.to_thread(services.pool.close)
        services.reports.write()
        services.ledger.close()
        services.namespace.close()

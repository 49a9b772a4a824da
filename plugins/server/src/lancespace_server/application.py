"""The whole server as one ASGI application."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lance_namespace import ErrorCode, LanceNamespaceError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route

from lancespace.operations import OPERATIONS
from lancespace_server import failures
from lancespace_server.exchange import Exchange, path_of
from lancespace_server.failures import Failure
from lancespace_server.guard import Guard
from lancespace_server.metrics import CONTENT_TYPE
from lancespace_server.openapi import document
from lancespace_server.operations import OperationsApp
from lancespace_server.principals import PRINCIPAL, SYSTEM
from lancespace_server.request import SECURITY_HEADERS
from lancespace_server.services import Services

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from lancespace import Namespace
    from lancespace_server.request import AtOnce
    from lancespace_server.settings import ServerSettings
    from lancespace_server.types import App, Receive, Scope, Send

_PREFIX = "/v1/"


def create_app(namespace: Namespace, settings: ServerSettings) -> App:
    """An ASGI application that serves a namespace; it closes the namespace when it ends.

    Operations are taken before Starlette's routing, which the rest goes through: they are what must be fast.
    """
    services = Services.start(namespace, settings)
    operations = OperationsApp(services)
    pages = _pages(services)
    app = _Split(operations, pages, pages, operations.at_once)
    if settings.cors_origins:
        cors = CORSMiddleware(
            app, allow_origins=settings.cors_origins, allow_methods=["GET", "POST"], allow_headers=["*"], max_age=600
        )
        return _Split(cors, cors, pages)
    return app


class _Split:
    """Sends each request to the application that it is for; the lifespan is Starlette's."""

    def __init__(self, operations: App, pages: App, lifespan: App, at_once: AtOnce | None = None) -> None:
        self._operations = operations
        self._pages = pages
        self._lifespan = lifespan
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


def _pages(services: Services) -> Starlette:
    """Everything beside the operations."""
    pages = _Pages(services)
    routes = [
        Route("/healthz", pages.health),
        Route("/readyz", pages.readiness),
        Route("/metrics", pages.metrics),
        Route("/openapi.json", pages.openapi),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            pages.is_stopping = True
            await asyncio.to_thread(services.pool.close)
            services.reports.write()
            services.namespace.close()

    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _no_page})


class _Pages:
    """What operators and machines ask a server beside its operations."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._guard = Guard(services)
        self.is_stopping = False
        self._document = b""

    async def health(self, _: Request) -> Response:
        """The process answers."""
        return _text("ok")

    async def readiness(self, _: Request) -> Response:
        """The namespace answers too, so requests may be sent here."""
        if self.is_stopping:
            return _text("stopping", status=503)
        PRINCIPAL.set(SYSTEM)
        try:
            await self._services.pool.run(self._ask)
        except (LanceNamespaceError, Failure) as error:
            return _text(f"not ready: {getattr(error, 'code', ErrorCode.INTERNAL).name}", status=503)
        return _text("ready")

    async def metrics(self, request: Request) -> Response:
        """All numbers, for those who are let in."""
        exchange = Exchange(request.scope, request.receive, _unused)
        try:
            await self._guard.admit(exchange)
        except LanceNamespaceError as error:
            return _failed(failures.of_error(error), exchange.request_id)
        self._services.reports.write()
        return Response(self._services.metrics.render(), headers=_headers(), media_type=CONTENT_TYPE)

    async def openapi(self, _: Request) -> Response:
        """What this server understands."""
        if not self._document:
            self._document = document(self._services.settings)
        return Response(self._document, headers=_headers(), media_type="application/json")

    def _ask(self) -> None:
        if "list_namespaces" in self._services.namespace.capabilities():
            self._services.namespace.call(OPERATIONS["list_namespaces"], {"id": [], "limit": 1})


async def _no_page(request: Request, error: Exception) -> Response:
    """Starlette's own errors as the spec's."""
    exchange = Exchange(request.scope, request.receive, _unused)
    failure = failures.no_route(exchange.path)
    if isinstance(error, HTTPException) and error.status_code == 405:  # noqa: PLR2004 - HTTP's own number
        failure = failures.wrong_method(exchange.method, ["GET"])
    return _failed(failure, exchange.request_id)


async def _unused(_: object) -> None:
    """Starlette sends these answers."""


def _failed(failure: Failure, request_id: str) -> Response:
    more = {name.decode(): value.decode() for name, value in failure.headers}
    headers = {**_headers(), "x-request-id": request_id, **more}
    return Response(failure.body(request_id), failure.status, headers, "application/json")


def _text(text: str, status: int = 200) -> Response:
    return Response(text + "\n", status, _headers(), "text/plain")


def _headers() -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in SECURITY_HEADERS}

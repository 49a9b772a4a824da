"""The operations over HTTP: one ASGI application for everything below ``/v1``."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from lance_namespace import ErrorCode, LanceNamespaceError

from lancespace_server import failures
from lancespace_server.calls import Call
from lancespace_server.exchange import Exchange
from lancespace_server.failures import Failure
from lancespace_server.guard import Guard
from lancespace_server.principals import PRINCIPAL
from lancespace_server.routes import Routes
from lancespace_server.uploads import Disconnected

if TYPE_CHECKING:
    from lancespace.operations import Operation
    from lancespace_server.services import Services
    from lancespace_server.types import Receive, Scope, Send

_log = logging.getLogger(__name__)


class OperationsApp:
    """Routes a request to its operation, and sees to it that every request is answered, logged and counted."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._routes = Routes()
        self._guard = Guard(services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = time.perf_counter()
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(exchange)
        except Failure as failure:
            await exchange.fail(failure)
        except LanceNamespaceError as error:
            await exchange.fail(failures.of_error(error))
        except Disconnected:
            exchange.status = 499
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer and the log the rest
            _log.exception("request %s failed", exchange.request_id)
            await exchange.fail(_internal(error))
        finally:
            self._report(exchange, time.perf_counter() - started)

    async def _answer(self, exchange: Exchange) -> None:
        operation, segments = self._find(exchange)
        exchange.operation = operation
        exchange.principal = await self._guard.admit(exchange)
        PRINCIPAL.set(exchange.principal)
        services = self._services
        services.pool.admit(exchange.principal)
        try:
            with services.tracing.span(operation.name, exchange):
                await Call(services, exchange, operation, segments).answer()
        finally:
            services.pool.release(exchange.principal)

    def _find(self, exchange: Exchange) -> tuple[Operation, list[str]]:
        path = exchange.path
        by_method, segments = self._routes.find(path)
        if not by_method:
            raise failures.no_route(path)
        operation = by_method.get(exchange.method)
        if operation is None:
            raise failures.wrong_method(exchange.method, list(by_method))
        return operation, segments

    def _report(self, exchange: Exchange, seconds: float) -> None:
        operation = exchange.operation.name if exchange.operation else "none"
        services = self._services
        services.metrics.observe(operation, exchange.status, seconds, exchange.received, exchange.sent)
        services.access_log.write(
            request_id=exchange.request_id,
            principal=exchange.principal or None,
            remote=exchange.remote,
            method=exchange.method,
            operation=operation,
            id=exchange.identifier,
            status=exchange.status,
            error=exchange.error,
            seconds=seconds,
            received=exchange.received,
            sent=exchange.sent,
        )


def _internal(error: Exception) -> Failure:
    """What nobody foresaw: the log has the details, the caller the request id."""
    return Failure(500, ErrorCode.INTERNAL, f"The server failed ({type(error).__name__}); its log has the details.")

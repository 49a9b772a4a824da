"""The operations over HTTP: one ASGI application for everything below ``/v1``."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from lance_namespace import ErrorCode, LanceNamespaceError

from lancespace.authoring import PRINCIPAL, Payload, Principal
from lancespace_server import failures, wire
from lancespace_server.calls import Call
from lancespace_server.exchange import Exchange
from lancespace_server.failures import Failure
from lancespace_server.guard import Guard
from lancespace_server.rates import Rates
from lancespace_server.routes import Routes
from lancespace_server.transfers import Transfer
from lancespace_server.uploads import Disconnected

if TYPE_CHECKING:
    from lancespace.authoring import Operation
    from lancespace_server.request import Answer, Request
    from lancespace_server.services import Services
    from lancespace_server.types import Receive, Scope, Send

_log = logging.getLogger(__name__)


class OperationsApp:
    """Routes a request to its operation, and sees to it that every request is answered, logged and counted."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._routes = Routes()
        self._guard = Guard(services)
        self._callers = Rates(services.settings.max_rate_per_principal)
        self._addresses = Rates(services.settings.max_rate_per_address)
        self._most_at_once = min(services.settings.max_json_bytes, wire.LARGE_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = time.perf_counter()
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(exchange)
        except Disconnected:
            exchange.status = 499
        except asyncio.CancelledError:  # The HTTP server was told to stop, and has no more time.
            await exchange.break_off(failures.stopped())
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            await exchange.break_off(failure_of(exchange, error))
        finally:
            self._services.reports.add(exchange, time.perf_counter() - started)

    def at_once(self, request: Request, body: bytes) -> Answer | None:
        """The answer to a request that is there as a whole, if it needs no waiting; or None, and nothing was done.

        This is :meth:`__call__` for the requests that are most frequent, without the tasks and messages of ASGI, which
        take as long as all the rest.
        """
        started = time.perf_counter()
        services = self._services
        by_method, segments = self._routes.find(request.path)
        operation = by_method.get(request.method)
        if operation is None or not services.pace.is_fast(operation) or len(body) > self._most_at_once:
            return None
        request.operation = operation
        try:
            self._addresses.take(request.remote or "")
            caller = self._guard.quickly(request)
            if caller is None:
                self._addresses.give_back(request.remote or "")
                return None
            request.principal = caller.name
            self._callers.take(caller.name)
            answer = self._call(caller, request, operation, segments, body)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            answer = request.fail(failure_of(request, error))
        services.reports.add(request, time.perf_counter() - started)
        return answer

    def _call(
        self, caller: Principal, request: Request, operation: Operation, segments: list[str], body: bytes
    ) -> Answer:
        services = self._services
        place = services.pool.admit(request.principal)
        token = PRINCIPAL.set(caller)  # A third of the time that acting() takes.
        try:
            with services.tracing.span(operation.name, request):
                return Call(services, request, operation, segments).at_once(body)
        finally:
            PRINCIPAL.reset(token)
            place.leave()

    async def _answer(self, exchange: Exchange) -> None:
        operation, segments = self._find(exchange)
        exchange.operation = operation
        self._addresses.take(exchange.remote or "")
        caller = await self._guard.admit(exchange)
        exchange.admitted(caller.name)
        self._callers.take(caller.name)
        PRINCIPAL.set(caller)
        services = self._services
        streams = operation.takes_data or operation.result is Payload.ARROW_FILE
        place = services.pool.admit(exchange.principal, streams=streams)
        try:
            with services.tracing.span(operation.name, exchange):
                await Transfer(services, exchange, operation, segments, place).answer()
        finally:
            place.leave()

    def _find(self, exchange: Exchange) -> tuple[Operation, list[str]]:
        path = exchange.path
        by_method, segments = self._routes.find(path)
        if not by_method:
            raise failures.no_route(path)
        operation = by_method.get(exchange.method)
        if operation is None:
            raise failures.wrong_method(exchange.method, list(by_method))
        return operation, segments


def failure_of(request: Request, error: Exception) -> Failure:
    """The answer to what went wrong; of what nobody foresaw, the log has the details, the caller the request id."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, LanceNamespaceError):
        return failures.of_error(error, request.operation)
    _log.error("request %s failed", request.request_id, exc_info=error)
    return Failure(500, ErrorCode.INTERNAL, f"The server failed ({type(error).__name__}); its log has the details.")

"""The REST backend: every operation of the table, as one HTTP request each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lancespace.backends.base import Backend
from lancespace.hookspecs import hookimpl
from lancespace.identifiers import show
from lancespace.operations import OPERATIONS, Operation, Payload
from lancespace_rest import answers, auth, bodies, headers, providers
from lancespace_rest.addresses import Addresses
from lancespace_rest.deadlines import Deadline
from lancespace_rest.messages import Message, merged
from lancespace_rest.reading import read
from lancespace_rest.sessions import HttpSession
from lancespace_rest.settings import PROPERTIES, check
from lancespace_rest.transport import Exchange, Transport

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace.arrow import ArrowData
    from lancespace.connection import Connection

_ACCEPT_ARROW = f"{bodies.ARROW_STREAM}, {bodies.ARROW_FILE};q=0.9, {bodies.JSON};q=0.8"


class RestBackend(Backend):
    """A namespace on a server; connecting sends nothing."""

    properties = PROPERTIES

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        settings = self.settings
        check(settings)
        self._addresses = Addresses(settings["uri"], settings["delimiter"])
        self._headers = headers.from_properties(settings.family("headers."), settings.family("header."))
        self._provider = providers.choose(connection.context_provider, settings.family("dynamic_context_provider."))
        session = HttpSession(settings)
        self._transport = Transport(session, auth.load(settings, session))

    @hookimpl
    def close(self) -> None:
        """Close the connections that are kept open."""
        self._transport.close()

    def answer(self, operation: Operation, request: BaseModel, data: ArrowData | None = None) -> Any:
        """Ask the server."""
        message = self._message(operation, request, data)
        exchange = Exchange(self._transport, message)
        if operation.result is Payload.ARROW_FILE:
            from lancespace_rest.results import QueryResults

            return exchange.run(partial(QueryResults, exchange))
        answer, body = exchange.run(lambda answer: (answer, read(answer, message.deadline)))
        return answers.understood(operation, message.about, answer, body)

    def _message(self, operation: Operation, request: BaseModel, data: ArrowData | None) -> Message:
        names = getattr(request, "id", None)
        about = f"{operation.name} {show(names)!r}" if names else operation.name
        deadline = Deadline(self.settings["timeout.total"], about)
        provided = providers.context_of(self._provider, operation, self._addresses.joined(request))
        given = getattr(request, "context", None) or {}
        other = headers.other_context({**provided, **given})
        compression = self.settings["compression"]
        body = bodies.body_of(operation, request, other, data, compression=compression, about=about)
        return Message(
            operation=operation,
            about=about,
            url=self._addresses.of(operation, request),
            base=self._addresses.base,
            defaults=self._headers,
            headers=merged(
                {headers.IDEMPOTENCY_KEY: str(uuid4())} if operation.writes else {},
                headers.from_context(provided),
                headers.from_identity(getattr(request, "identity", None)),
                headers.from_context(given),
                _content_headers(operation, body, compression),
            ),
            body=body,
            deadline=deadline,
        )


def _content_headers(operation: Operation, body: bodies.Body, compression: str) -> dict[str, str]:
    """What is sent and what is wanted; Arrow data is not to be compressed for nothing on a fast network."""
    wanted = {"Accept": bodies.JSON}
    if operation.result is Payload.ARROW_FILE:
        wanted = {"Accept": _ACCEPT_ARROW}
        if compression == "none":
            wanted["Accept-Encoding"] = "identity"
    return wanted if body.content_type is None else {**wanted, "Content-Type": body.content_type}


def _hook(operation: Operation) -> Callable[..., Any]:
    def with_request(self: RestBackend, request: BaseModel) -> Any:
        return self.answer(operation, request)

    def with_data(self: RestBackend, request: BaseModel, data: ArrowData) -> Any:
        return self.answer(operation, request, data)

    method = with_data if operation.takes_data else with_request
    method.__name__, method.__doc__ = operation.name, f"{operation.method} {operation.route}."
    return hookimpl(method)


for _row in OPERATIONS.values():
    setattr(RestBackend, _row.name, _hook(_row))

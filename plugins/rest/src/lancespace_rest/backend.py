"""The REST backend: every operation of the table, as one HTTP request each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, cast
from uuid import uuid4

from lance_namespace import InternalError, InvalidInputError, LanceNamespaceError
from pydantic import BaseModel

from lancespace.authoring import (
    OPERATIONS,
    ArrowData,
    Backend,
    Connection,
    Operation,
    Payload,
    hookimpl,
    identifiers,
    redact,
)
from lancespace_rest import auth, bodies, headers
from lancespace_rest.addresses import Addresses
from lancespace_rest.deadlines import Deadline
from lancespace_rest.messages import Message, merged
from lancespace_rest.responses import parse_response, read
from lancespace_rest.sessions import HttpSession
from lancespace_rest.settings import PROPERTIES, check
from lancespace_rest.transport import Exchange, Transport

_ACCEPT_ARROW = f"{bodies.ARROW_STREAM}, {bodies.ARROW_FILE};q=0.9, {bodies.JSON};q=0.8"


class RestBackend(Backend):
    """A namespace on a server; connecting sends nothing."""

    properties = PROPERTIES

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        settings = self.settings
        check(settings)
        self._addresses = Addresses(settings["uri"], settings["delimiter"])
        self._provider = _provider(connection.context_provider, settings.family("dynamic_context_provider."))
        session = HttpSession(settings)
        own = {name: str(value) for name, value in session.headers.items()}
        given = headers.from_properties(settings.family("headers."), settings.family("header."))
        self._headers = merged(own, given)
        self._transport = Transport(session, auth.load(settings, session))

    @hookimpl
    def close(self) -> None:
        """Close the connections that are kept open."""
        self._transport.session.close()

    def answer(self, operation: Operation, request: BaseModel, data: ArrowData | None = None) -> Any:
        """Ask the server."""
        message = self._message(operation, request, data)
        exchange = Exchange(self._transport, message)
        if operation.result is Payload.ARROW_FILE:
            from lancespace_rest.results import QueryResults  # It imports pyarrow.

            return exchange.run(partial(QueryResults, exchange))
        answer, body = exchange.run(lambda answer: (answer, read(answer, message.deadline)))
        return parse_response(operation, message.about, answer, body)

    def _message(self, operation: Operation, request: BaseModel, data: ArrowData | None) -> Message:
        names = getattr(request, "id", None)
        about = f"{operation.name} {identifiers.show(names)!r}" if names else operation.name
        deadline = Deadline(self.settings["timeout.total"], about)
        provided = _context_of(self._provider, operation, self._addresses.joined(request))
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


class ContextProvider(Protocol):
    """What is asked for context before every operation: the interface of pylance's ``DynamicContextProvider``."""

    def provide_context(self, info: dict[str, str]) -> Mapping[str, str]:
        """The context of an operation; ``info`` has ``operation`` and ``object_id``, its joined identifier."""


def _provider(given: object, options: Mapping[str, str]) -> ContextProvider | None:
    """The provider that was given as an object, or else the one that ``dynamic_context_provider.*`` names."""
    if given is not None:
        if not callable(getattr(given, "provide_context", None)):
            raise InvalidInputError(
                f"rest: the context_provider, a {type(given).__name__}, needs a method provide_context."
            )
        return cast("ContextProvider", given)
    if not options:
        return None
    path = options.get("impl", "")
    module, _, name = path.rpartition(".")
    if not module:
        raise InvalidInputError(
            "rest: the property 'dynamic_context_provider.impl' must be a class path like 'package.module.Class'."
        )
    try:
        kind = getattr(importlib.import_module(module), name)
        provider: ContextProvider = kind(**{key: value for key, value in options.items() if key != "impl"})
    except Exception as error:
        raise InvalidInputError(f"rest: the context provider {path!r} cannot be made: {_shown(error)}") from error
    return provider


def _context_of(provider: ContextProvider | None, operation: Operation, object_id: str) -> dict[str, str]:
    if provider is None:
        return {}
    name = type(provider).__name__
    try:
        context: dict[str, Any] = dict(provider.provide_context({"operation": operation.name, "object_id": object_id}))
    except LanceNamespaceError:
        raise
    except Exception as error:
        raise InternalError(f"The context provider {name} failed: {_shown(error)}") from error
    for key, value in context.items():
        if not isinstance(value, str):
            raise InternalError(
                f"The context provider {name} must answer strings, but {key!r} is {type(value).__name__}."
            )
    return context


def _shown(error: Exception) -> str:
    return redact(f"{type(error).__name__}: {error}")

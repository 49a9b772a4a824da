"""HTTP answers: their bytes as they come, and what an operation makes of all of them."""

from __future__ import annotations

import json
from typing import Any

import requests
from lance_namespace import ServiceUnavailableError
from urllib3.exceptions import ProtocolError

from lancespace.authoring import Operation, Payload, model
from lancespace_rest import errors
from lancespace_rest.deadlines import Deadline
from lancespace_rest.headers import to_context

_FRAMING = frozenset({"content-length", "transfer-encoding"})
_CHUNK = 1 << 16
_MOST_OF_AN_ERROR = 1 << 16
_JSON_FORMS: dict[Payload, tuple[str, type[Any], str | None]] = {
    Payload.JSON: ("a JSON object with the fields of the spec", dict, None),
    Payload.INTEGER: ("a number", int, "count"),
    Payload.STRING_MAP: ("a JSON object of strings", dict, "metadata"),
    Payload.EMPTY: ("empty", dict, None),
}
"""For messages, the JSON type, and the field of the response model that the whole value is."""


def receive(answer: requests.Response, deadline: Deadline, most: int) -> bytes:
    """The next bytes of an answer as soon as there are some, so that a slow server cannot outlast the deadline."""
    # The connection is None once it is back in the pool: then there is nothing to wait for.
    deadline.limit(getattr(answer.raw.connection, "answering", None))
    is_encoded = "content-encoding" in answer.headers  # Asked to decode, urllib3 copies what is not encoded, too.
    chunk: bytes = answer.raw.read1(most, decode_content=is_encoded)
    return chunk


def read(answer: requests.Response, deadline: Deadline) -> bytes:
    """The body of an answer; its connection goes back to the pool."""
    with answer:
        return b"".join(iter(lambda: receive(answer, deadline, _CHUNK), b""))


def read_error(answer: requests.Response, deadline: Deadline, begun: bytes = b"") -> bytes:
    """The body of an error, as far as it came and is worth reading: its status alone says what went wrong."""
    body = begun
    with answer:
        try:
            while len(body) < _MOST_OF_AN_ERROR and (chunk := receive(answer, deadline, _CHUNK)):
                body += chunk
        except (*errors.BROKEN, ServiceUnavailableError):  # The latter is the deadline's.
            pass
    return body


def first(answer: requests.Response, deadline: Deadline, size: int) -> bytes:
    """The first bytes of an answer; fewer only if it has no more. Where that fails, the answer is closed.

    Raises:
        HTTPError: If the connection was closed before, by a server that does not say how long its answer is.
    """
    found = b""
    try:
        while len(found) < size and (piece := receive(answer, deadline, size - len(found))):
            found += piece
    except BaseException:
        answer.close()
        raise
    if len(found) < size and not _FRAMING & {name.lower() for name in answer.headers}:
        answer.close()
        raise ProtocolError("the connection was closed")
    return found


def parse_response(operation: Operation, about: str, answer: requests.Response, body: bytes) -> Any:
    """The response model, with the headers of the answer as its context; a plain string for the plans.

    Raises:
        InternalError: If a success is not what the spec says it is.
    """
    if operation.result is Payload.TEXT:
        return _text(about, answer, body)
    expected, kind, field = _JSON_FORMS[operation.result]
    try:
        is_object = field is None
        is_bare = operation.result is Payload.EMPTY or (is_object and not body.strip())
        value = {} if is_bare else _typed(kind, json.loads(body))
        fields = value if is_object else {field: value}
        context = {**(fields.get("context") or {}), **to_context(answer.headers)}
        return model(operation.response).model_validate({**fields, "context": context})
    except (ValueError, TypeError) as error:
        raise errors.not_understood(about, expected, answer, body) from error


def _text(about: str, answer: requests.Response, body: bytes) -> str:
    """A JSON string, as the spec has it, or plain text, which some servers send."""
    try:
        is_plain = answer.headers.get("content-type", "").startswith("text/plain")
        text: str = body.decode() if is_plain else _typed(str, json.loads(body))
    except (ValueError, TypeError) as error:
        raise errors.not_understood(about, "a string", answer, body) from error
    return text


def _typed(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} instead of {kind.__name__}")
    return value

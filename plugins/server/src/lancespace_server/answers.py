"""Answers out: the operation's result as status, headers and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from lancespace.authoring import DELIMITER, Operation, Payload, Subject
from lancespace_server.headers import of_context
from lancespace_server.wire import delimiter_of

if TYPE_CHECKING:
    from lancespace_server.types import RawHeaders

JSON = b"application/json"
ARROW_FILE = b"application/vnd.apache.arrow.file"
ARROW_STREAM = b"application/vnd.apache.arrow.stream"


def encode(operation: Operation, answer: Any, query_string: bytes) -> tuple[bytes, RawHeaders]:
    """The body of a success that is not Arrow data, and the headers that its context asks for."""
    headers: RawHeaders = []
    context = getattr(answer, "context", None)
    if context:
        headers, rest = of_context(context)
        answer.context = rest or None
    if query_string and operation.subject is Subject.CATALOG and operation.query:
        _join_with(answer, delimiter_of(query_string))
    return _body(operation, answer), headers


def _body(operation: Operation, answer: Any) -> bytes:
    kind = operation.result
    if kind is Payload.EMPTY:
        return b""
    if kind is Payload.TEXT:
        return to_json(answer)
    if kind is Payload.INTEGER:
        return to_json(answer.count)
    if kind is Payload.STRING_MAP:
        return to_json(answer.metadata or {})
    body: bytes = answer.__pydantic_serializer__.to_json(answer, by_alias=True, exclude_none=True)
    return body


def _join_with(answer: Any, delimiter: str) -> None:
    """Joined identifiers with the delimiter of the caller; no name contains the usual one."""
    if delimiter != DELIMITER:
        answer.tables = [name.replace(DELIMITER, delimiter) for name in answer.tables]

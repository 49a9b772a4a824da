"""Bodies of requests: JSON in memory, or Arrow data that streams."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from lance_namespace import InvalidInputError, LanceNamespaceError
from pydantic import BaseModel

from lancespace.authoring import HEADER_FIELDS, ArrowData, Operation, Payload, translate

JSON = "application/json"
ARROW_STREAM = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"


class JsonBody:
    """A small body in memory; ``content`` is None for operations that send none."""

    is_replayable = True

    def __init__(self, value: Any = None) -> None:
        self.content_type = None if value is None else JSON
        self.content = None if value is None else _encoded(value)

    @property
    def sha256(self) -> str | None:
        """Digest for methods that sign the body."""
        return hashlib.sha256(self.content or b"").hexdigest()


class ArrowBody:
    """An Arrow IPC stream that is encoded while it is sent, so that memory stays flat."""

    content_type = ARROW_STREAM
    sha256 = None

    def __init__(self, data: ArrowData, compression: str, about: str) -> None:
        self._data = data
        self._compression = None if compression == "none" else compression
        self._about = about
        self._is_started = False
        if data.ipc_length:
            self.len = data.ipc_length  # How requests is told of a Content-Length; without one, it sends chunks.

    @property
    def content(self) -> ArrowBody:
        """What is given to requests."""
        return self

    @property
    def is_replayable(self) -> bool:
        """Whether it can be sent (again) from its beginning."""
        return not self._is_started or self._data.is_replayable

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """The chunks; what their source raises becomes one of the spec's errors right here.

        urllib3 would take an OSError of the source for one of the connection, and wait for an answer after some.
        """
        self._is_started = True
        try:
            yield from self._data.ipc_stream(self._compression)
        except LanceNamespaceError:
            raise
        except Exception as error:
            raise translate(error, about=self._about) from error


Body = JsonBody | ArrowBody


def body_of(
    operation: Operation,
    request: BaseModel,
    context: dict[str, str],
    data: ArrowData | None,
    *,
    compression: str,
    about: str,
) -> Body:
    """The body of an operation, of what does not travel in the URL or in headers; ``context`` is what is no header."""
    if operation.body is Payload.EMPTY:
        return JsonBody()
    if operation.body is Payload.STRING_MAP:
        return JsonBody(getattr(request, "metadata", None) or {})
    if data is not None:
        return ArrowBody(data, compression, about)
    fields: dict[str, Any] = request.to_dict()  # type: ignore[attr-defined]
    elsewhere = {*HEADER_FIELDS, *operation.query}
    kept = {name: value for name, value in fields.items() if name not in elsewhere}
    return JsonBody({**kept, "context": context} if context else kept)


def _encoded(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise InvalidInputError(f"The request cannot be written as JSON: {error}.") from error

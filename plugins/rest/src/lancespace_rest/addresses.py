"""From an operation and its request to a URL: prefix, route, percent-encoded identifier, query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from lance_namespace import InvalidInputError
from pydantic import BaseModel

from lancespace.authoring import DELIMITER, Operation, redact_url

_DOT_SEGMENTS = {".", ".."}


class Addresses:
    """Where the operations of one server are."""

    def __init__(self, uri: str, delimiter: str) -> None:
        if not delimiter:
            raise InvalidInputError("rest: the property 'delimiter' must not be empty.")
        self.base = _checked(uri)
        """The server's address with its prefix, for messages."""
        self._delimiter = delimiter

    def of(self, operation: Operation, request: BaseModel) -> str:
        """The URL of one request.

        Raises:
            InvalidInputError: If a name cannot be part of the path.
        """
        path, delimiter = operation.route, self._delimiter
        for field in operation.path_fields:
            text = self.joined(request) if field == "id" else str(getattr(request, field) or "")
            path = path.replace(f"{{{field}}}", _segment(operation, field, text))
            # The root is written as a delimiter; which one, the query says.
            delimiter = text if field == "id" and not request.id else delimiter  # type: ignore[attr-defined]
        query = [("delimiter", delimiter), *_query(operation, request)]
        return f"{self.base}{path}?{urlencode(query, quote_via=quote, safe='')}"

    def joined(self, request: BaseModel) -> str:
        """The identifier as it travels: its names joined, or the delimiter for the root.

        Raises:
            InvalidInputError: If a name contains the delimiter.
        """
        names: Sequence[str] = getattr(request, "id", None) or ()
        for name in names:
            if self._delimiter in name:
                raise InvalidInputError(
                    f"The name {name!r} contains the delimiter {self._delimiter!r} of this connection: "
                    "rename it, or connect with another delimiter."
                )
        # A path has no segment "."; the root can be written with any delimiter, so then it is the spec's own.
        root = DELIMITER if self._delimiter in _DOT_SEGMENTS else self._delimiter
        return self._delimiter.join(names) or root


def is_http(url: str) -> bool:
    """Whether a URL is one of HTTP, with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _checked(uri: str) -> str:
    if not is_http(uri) or "?" in uri or "#" in uri:
        raise InvalidInputError(
            f"rest: the property 'uri' must be like http://host:2333 or https://host/prefix, not {redact_url(uri)!r}."
        )
    if urlsplit(uri).username is not None:
        raise InvalidInputError(
            "rest: the property 'uri' must not carry a user and password: "
            "use rest.auth.type=basic with rest.auth.basic.username and rest.auth.basic.password."
        )
    return uri.rstrip("/")


def _segment(operation: Operation, field: str, text: str) -> str:
    """A segment of the path; HTTP clients and servers take dots out of paths, and another route would be reached."""
    if not text or text in _DOT_SEGMENTS:
        raise InvalidInputError(f"{operation.name}: {field} must be a name, not {text!r}.")
    return quote(text, safe="")


def _query(operation: Operation, request: BaseModel) -> Iterator[tuple[str, str]]:
    for field in operation.query:
        value = getattr(request, field)
        for one in value if isinstance(value, list) else () if value is None else (value,):
            yield field, _text(one)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)

"""From method and path to an operation: a tree made of the table's routes.

Paths are matched as they came over the wire, before percent-decoding, so that an encoded slash stays inside its name.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from lance_namespace import InvalidInputError

from lancespace.authoring import OPERATIONS

if TYPE_CHECKING:
    from lancespace.authoring import Operation

_ANY = None
"""The key of the branch that takes any segment."""

_HERE = ""
"""The key of a node's own operations, by method; no segment of a route is empty."""

_LONGEST_REMEMBERED = 1024
"""Nobody has reason to send longer ones again and again, and they would take much memory."""


class Routes:
    """All routes of the table. A fixed segment is preferred to a field: ``/v1/table/batch-commit`` names no table."""

    def __init__(self) -> None:
        self._root: dict[Any, Any] = {}
        for operation in OPERATIONS.values():
            self._add(operation)

    def find(self, path: str) -> tuple[dict[str, Operation], list[str]]:
        """The operations at a path by method, and the segments that are fields; no operations if there is no route."""
        node, values = self._root, []
        for segment in path.removesuffix("/")[1:].split("/"):
            below = node.get(segment)
            if below is None or segment == _HERE:
                below = node.get(_ANY)
                values.append(segment)
                if below is None:
                    return {}, []
            node = below
        return node.get(_HERE, {}), values

    def _add(self, operation: Operation) -> None:
        node = self._root
        for part in operation.route[1:].split("/"):
            node = node.setdefault(_ANY if part.startswith("{") else part, {})
        node.setdefault(_HERE, {})[operation.method] = operation


def decode(segment: str) -> str:
    """A segment of the path as text. A plus sign is a space there, as pylance's client writes it; a plus is ``%2B``.

    Raises:
        InvalidInputError: If the bytes are not UTF-8.
    """
    if "%" not in segment and "+" not in segment:
        return segment
    return _remembered(segment) if len(segment) <= _LONGEST_REMEMBERED else _decoded(segment)


def _decoded(segment: str) -> str:
    try:
        return unquote_to_bytes(segment.replace("+", " ")).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"The path segment {segment!r:.200} is not percent-encoded UTF-8.") from error


_remembered = functools.lru_cache(maxsize=4096)(_decoded)

"""One JSON line per request: who did what to which object, how it ended. No query, no headers, no bodies."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from pydantic_core import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lancespace_server.request import Request

_MOST_BYTES = 4096
"""What a pipe takes in one piece, so that the lines of several workers do not mix."""

_MOST_OF_A_PATH = 200


class AccessLog:
    """Writes the lines to standard output, with as few calls as possible."""

    def __init__(self, *, is_on: bool) -> None:
        self._file = sys.stdout.fileno() if is_on else None

    def write(self, ended: Iterable[tuple[Request, float]]) -> None:
        """Write a line for each request, given with the seconds that it took."""
        if self._file is None:
            return
        for piece in _pieces(_line(request, seconds) for request, seconds in ended):
            os.write(self._file, piece)


def _line(request: Request, seconds: float) -> bytes:
    """A field without a value is left out."""
    fields = {
        "time": time.time(),
        "request_id": request.request_id,
        "principal": request.principal or None,
        "remote": request.remote,
        "method": request.method,
        "operation": request.operation.name if request.operation else "none",
        "path": None if request.operation else request.path[:_MOST_OF_A_PATH],
        "id": request.identifier,
        "status": request.status,
        "error": request.error,
        "seconds": seconds,
        "received": request.received,
        "sent": request.sent,
    }
    return to_json({name: value for name, value in fields.items() if value is not None}) + b"\n"


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines together, as many as fit."""
    piece = b""
    for line in lines:
        if piece and len(piece) + len(line) > _MOST_BYTES:
            yield piece
            piece = b""
        piece += line
    if piece:
        yield piece

"""One JSON line per request: who did what to which object, how it ended. No query, no headers, no bodies."""

from __future__ import annotations

import os
import sys
import time

from pydantic_core import to_json


class AccessLog:
    """Writes the lines to standard output, each with one call, so that those of several workers do not mix."""

    def __init__(self, *, is_on: bool) -> None:
        self._file = sys.stdout.fileno() if is_on else None

    def write(self, **fields: object) -> None:
        """Write a line; a field without a value is left out."""
        if self._file is None:
            return
        line = {"time": time.time(), **{key: value for key, value in fields.items() if value is not None}}
        os.write(self._file, to_json(line) + b"\n")

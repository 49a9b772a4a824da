"""``wrappers=audit``: a JSON line per operation: who did what to which object, how it ended, how long it took."""

from __future__ import annotations

import getpass
import json
import sys
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from lancespace._hookspecs import hookimpl
from lancespace._properties import Property
from lancespace._wrappers.base import ObservingWrapper

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace._connection import Connection
    from lancespace._operations import Operation


class AuditWrapper(ObservingWrapper):
    """Writes the audit log. Requests are never written whole: they may carry secrets."""

    properties = (
        Property("path", "File the lines are appended to; standard error if not given"),
        Property("principal", "Who is acting; the operating system's user if not given"),
    )

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._path: str | None = connection.settings["audit.path"]
        self._principal: str | None = connection.settings["audit.principal"]
        self._file: TextIO | None = None
        self._lock = threading.Lock()

    def observe(self, operation: Operation, request: BaseModel, outcome: str, seconds: float) -> None:
        """Write the line."""
        line = json.dumps(
            {
                "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
                "principal": self._who(),
                "operation": operation.name,
                "id": getattr(request, "id", None),
                "outcome": outcome,
                "milliseconds": round(seconds * 1000, 3),
            }
        )
        with self._lock:
            print(line, file=self._out(), flush=True)

    @hookimpl
    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _who(self) -> str:
        if self._principal is None:
            self._principal = getpass.getuser()
        return self._principal

    def _out(self) -> Any:
        if self._path is None:
            return sys.stderr
        if self._file is None:
            self._file = Path(self._path).expanduser().open("a", encoding="utf-8")
        return self._file

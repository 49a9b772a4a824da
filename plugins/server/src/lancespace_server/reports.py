"""What is told of requests that ended: numbers, and lines of the access log."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lancespace.authoring import Payload

if TYPE_CHECKING:
    from lancespace_server.accesslog import AccessLog
    from lancespace_server.metrics import Metrics
    from lancespace_server.request import Request


class Reports:
    """Tells of several requests together, whenever the event loop comes round: one by one they take twice as long."""

    def __init__(self, metrics: Metrics, log: AccessLog) -> None:
        self._metrics = metrics
        self._log = log
        self._ended: list[tuple[Request, float]] = []

    def add(self, request: Request, seconds: float) -> None:
        """Take a request down that ended after so many seconds."""
        if not self._ended:
            asyncio.get_running_loop().call_soon(self.write)
        self._ended.append((request, seconds))

    def write(self) -> None:
        """Tell of all that were taken down."""
        ended, self._ended = self._ended, []
        for request, seconds in ended:
            operation = request.operation
            given = request.sent if operation and operation.result is Payload.ARROW_FILE else 0
            name = operation.name if operation else "none"
            self._metrics.observe(name, request.status, seconds, request.received, given)
        self._log.write(ended)

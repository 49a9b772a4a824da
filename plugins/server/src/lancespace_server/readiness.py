"""Whether the namespace behind the server answers, so that requests may be sent here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespaceError, ServiceUnavailableError

from lancespace.authoring import OPERATIONS, acting
from lancespace_server.deadlines import Deadline
from lancespace_server.principals import SYSTEM
from lancespace_server.threads import Threads

if TYPE_CHECKING:
    from lancespace import Namespace

_MOST_SECONDS = 10.0
"""Whoever probes a server does not wait longer."""

READY = "ready"


class Readiness:
    """Asks the namespace on a thread of its own: one that is busy is ready, and one that hangs hangs nobody else."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._threads = Threads(1)
        self._asked: asyncio.Future[Any] | None = None
        self._is_stopping = False

    async def state(self) -> str:
        """``ready``, or why not; all who want to know at the same time share one question."""
        if self._is_stopping:
            return "stopping"
        if self._asked is None or self._asked.done():
            self._asked = self._start()
        try:
            with Deadline(_MOST_SECONDS, lambda: ServiceUnavailableError("no answer in time")):
                await asyncio.shield(self._asked)
        except LanceNamespaceError as error:
            return f"not ready: {error.code.name}"
        return READY

    def stop(self) -> None:
        """Be ready no more."""
        self._is_stopping = True
        self._threads.close(0)

    def _start(self) -> asyncio.Future[Any]:
        with acting(SYSTEM):
            asked = self._threads.start(self._ask).future
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())  # It may come when nobody waits.
        return asked

    def _ask(self) -> None:
        if "list_namespaces" in self._namespace.capabilities():
            self._namespace.call(OPERATIONS["list_namespaces"], {"id": [], "limit": 1})

"""Where operations run: a bounded number of threads, with a bounded queue before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lancespace_server import failures
from lancespace_server.deadlines import Deadline
from lancespace_server.threads import Threads

if TYPE_CHECKING:
    from lancespace_server.settings import ServerSettings


class Pool:
    """Admits operations as long as there is room, and runs each in a thread.

    Everything but the operations themselves happens on the event loop, so counting needs no lock.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._under_way: Counter[str] = Counter()
        self.threads = Threads(settings.concurrency)
        self._most = settings.concurrency + settings.max_waiting
        self.admitted = 0

    def admit(self, principal: str) -> None:
        """Take a place for one request; whoever calls this calls :meth:`release` when its last byte is sent.

        Raises:
            Failure: 429 if the caller has too much under way, 503 if all callers together do.
        """
        limit = self._settings.max_per_principal
        if limit is not None and self._under_way[principal] >= limit:
            raise failures.throttled(principal, limit)
        if self.admitted >= self._most:
            raise failures.overloaded()
        self.admitted += 1
        if limit is not None:
            self._under_way[principal] += 1

    def release(self, principal: str) -> None:
        """Give the place back."""
        self.admitted -= 1
        if self._settings.max_per_principal is not None:
            self._under_way[principal] -= 1
            if not self._under_way[principal]:
                del self._under_way[principal]

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run a function in a thread and wait for its answer.

        Raises:
            Failure: 504 if it takes too long. The function goes on; its answer is dropped.
        """
        limit = self._settings.request_timeout
        with Deadline(limit, lambda: failures.timed_out(limit)):
            return await self.threads.start(function)

    def close(self) -> None:
        """Wait for what runs."""
        self.threads.close()

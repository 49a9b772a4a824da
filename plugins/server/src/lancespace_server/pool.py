"""Where operations run: a bounded number of threads, with a bounded queue before them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lancespace_server import failures
from lancespace_server.deadlines import Deadline
from lancespace_server.stopping import STOP
from lancespace_server.threads import Threads

if TYPE_CHECKING:
    from lancespace_server.failures import Failure
    from lancespace_server.settings import ServerSettings
    from lancespace_server.threads import Job

_log = logging.getLogger(__name__)


class Lane:
    """Threads, and places for those who use or await them."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._most = settings.concurrency + settings.max_waiting
        self.threads = Threads(settings.concurrency)
        self.admitted = 0

    def admit(self) -> None:
        """Take a place.

        Raises:
            Failure: 503 if all are taken.
        """
        if self.admitted >= self._most:
            raise failures.overloaded()
        self.admitted += 1

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run a function in a thread and wait for its answer.

        Raises:
            Failure: 504 if it takes too long; it goes on, and its answer is dropped. 503 if it never got a thread.
        """
        job = self.threads.start(function)
        with Deadline(self._settings.request_timeout, lambda: self.late(job)):
            return await job.future

    def late(self, job: Job) -> Failure:
        """The answer to a job that took too long; one that has not begun never will."""
        if job.withdraw():
            return failures.overloaded()
        return failures.timed_out(self._settings.request_timeout)


class Pool:
    """Admits operations as long as there is room, and runs each in a thread.

    Those that stream data have threads and places of their own: they last as long as their callers like, and must not
    keep all others from being served. Everything but the operations themselves happens on the event loop, so counting
    needs no lock.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._under_way: Counter[str] = Counter()
        self._calls = Lane(settings)
        self.transfers = Lane(settings)

    @property
    def admitted(self) -> int:
        """How many requests are under way."""
        return self._calls.admitted + self.transfers.admitted

    def admit(self, principal: str, *, streams: bool = False) -> None:
        """Take a place for one request; whoever calls this calls :meth:`release` when its last byte is sent.

        Raises:
            Failure: 429 if the caller has too much under way, 503 if all callers together do.
        """
        limit = self._settings.max_per_principal
        if limit is not None and self._under_way[principal] >= limit:
            raise failures.throttled(principal, limit)
        (self.transfers if streams else self._calls).admit()
        if limit is not None:
            self._under_way[principal] += 1

    def release(self, principal: str, *, streams: bool = False) -> None:
        """Give the place back."""
        (self.transfers if streams else self._calls).admitted -= 1
        if self._settings.max_per_principal is not None:
            self._under_way[principal] -= 1
            if not self._under_way[principal]:
                del self._under_way[principal]

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run a function that streams nothing: see :meth:`Lane.run`."""
        return await self._calls.run(function)

    def close(self) -> None:
        """Wait for what runs, as long as there is time."""
        limit = self._settings.shutdown_timeout
        running = sum(lane.threads.close(STOP.left(limit)) for lane in (self._calls, self.transfers))
        if running:
            _log.warning("%s operations still run after the %g s of shutdown_timeout and are abandoned", running, limit)

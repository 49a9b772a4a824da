"""Where operations run: a bounded number of threads, with a bounded queue before them."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lancespace_server import failures, memory
from lancespace_server.deadlines import Deadline
from lancespace_server.stopping import STOP
from lancespace_server.threads import Threads

if TYPE_CHECKING:
    from lancespace_server.failures import Failure
    from lancespace_server.settings import ServerSettings
    from lancespace_server.threads import Job

_log = logging.getLogger(__name__)


class _Lane:
    """Threads, and the number of requests that use or await them."""

    def __init__(self, settings: ServerSettings) -> None:
        self.most = settings.concurrency + settings.max_waiting
        share = _most_of_one(settings.concurrency) if settings.authenticates() else None
        self.threads = Threads(settings.concurrency, share)
        self.admitted = 0


class Place:
    """The place of one request. It is kept until the request leaves it and all that was started there has ended.

    So an operation that goes on after its request was answered still counts for its caller.
    """

    __slots__ = ("_bytes", "_has_left", "_lane", "_pool", "_principal", "_running")

    def __init__(self, pool: Pool, lane: _Lane, principal: str) -> None:
        self._pool = pool
        self._lane = lane
        self._principal = principal
        self._running = 0
        self._has_left = False
        self._bytes = 0

    def start(self, function: Callable[[], Any]) -> Job:
        """Run a function in a thread."""
        self._running += 1
        return self._lane.threads.start(function, self._principal, self._end)

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run a function in a thread and wait for its answer.

        Raises:
            Failure: 504 if it takes too long; it goes on, and its answer is dropped. 503 if it never got a thread.
        """
        job = self.start(function)
        with Deadline(self._pool.settings.request_timeout, lambda: self.late(job)):
            return await job.future

    def late(self, job: Job) -> Failure:
        """The answer to a job that took too long; one that has not begun never will."""
        if job.withdraw():
            return failures.overloaded()
        return failures.timed_out(self._pool.settings.request_timeout)

    def hold(self, size: int) -> None:
        """Note that the request has up to ``size`` bytes in memory until it leaves; any thread may call this.

        Raises:
            Failure: 429 if they are too many beside those of the caller's other requests.
        """
        if size > self._bytes:
            self._pool.count_bytes(self._principal, self._bytes, size)
            self._bytes = size

    def leave(self) -> None:
        """Give the place back, at once or when what runs has ended."""
        self._has_left = True
        if not self._running:
            self._pool.release(self._lane, self._principal, self._bytes)

    def _end(self) -> None:
        self._running -= 1
        if self._has_left and not self._running:
            self._pool.release(self._lane, self._principal, self._bytes)


class Pool:
    """Admits operations as long as there is room, and runs each in a thread.

    Those that stream data have threads and places of their own: they last as long as their callers like, and must not
    keep all others from being served. All but the counting of bytes happens on the event loop and needs no lock.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._under_way: dict[str, int] = {}
        self._most_under_way = settings.max_per_principal
        if self._most_under_way is None and settings.authenticates():
            self._most_under_way = _most_of_one(settings.concurrency + settings.max_waiting)
        worker_bytes = settings.max_worker_bytes or memory.default_limit(settings.processes())
        self._most_bytes = settings.max_bytes_per_principal or worker_bytes // 2
        self._bytes: Counter[str] = Counter()
        self._bytes_lock = threading.Lock()
        self._calls = _Lane(settings)
        self._transfers = _Lane(settings)

    @property
    def admitted(self) -> int:
        """How many requests are under way."""
        return self._calls.admitted + self._transfers.admitted

    def admit(self, principal: str, *, streams: bool = False) -> Place:
        """Take a place for one request; the caller leaves it when its last byte is sent.

        Raises:
            Failure: 429 if the principal has too much under way, 503 if all of them together do.
        """
        limit, lane = self._most_under_way, self._transfers if streams else self._calls
        under_way = self._under_way.get(principal, 0)
        if limit is not None and under_way >= limit:
            raise failures.throttled(principal, limit)
        if lane.admitted >= lane.most:
            raise failures.overloaded()
        lane.admitted += 1
        self._under_way[principal] = under_way + 1
        return Place(self, lane, principal)

    def release(self, lane: _Lane, principal: str, size: int) -> None:
        """Undo :meth:`admit` and :meth:`count_bytes`; for :class:`Place`."""
        lane.admitted -= 1
        under_way = self._under_way.pop(principal) - 1
        if under_way:
            self._under_way[principal] = under_way
        if size:
            with self._bytes_lock:
                self._bytes[principal] -= size
                if not self._bytes[principal]:
                    del self._bytes[principal]

    def count_bytes(self, principal: str, old: int, new: int) -> None:
        """Replace the size of a request; for :class:`Place`. A request alone may be as large as other limits allow.

        Raises:
            Failure: 429 if it is too large beside the other requests of the principal.
        """
        with self._bytes_lock:
            others = self._bytes[principal] - old
            if others and others + new > self._most_bytes:
                raise failures.too_many_bytes(principal, self._most_bytes)
            self._bytes[principal] = others + new

    def close(self) -> None:
        """Wait for what runs, as long as there is time."""
        limit = self.settings.shutdown_timeout
        running = sum(lane.threads.close(STOP.left(limit)) for lane in (self._calls, self._transfers))
        if running:
            _log.warning("%s operations still run after the %g s of shutdown_timeout and are abandoned", running, limit)


def _most_of_one(count: int) -> int:
    """How much of something one caller may have, so that there is some left for others."""
    return max(count * 3 // 4, 1)

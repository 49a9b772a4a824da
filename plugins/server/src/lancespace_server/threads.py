"""A fixed number of threads that run functions for an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Job:
    """A function that waits for a thread, and the future of its answer."""

    __slots__ = ("_context", "_function", "_turn", "_when_over", "future")

    def __init__(self, function: Callable[[], Any], when_over: Callable[[Job], None]) -> None:
        """Keep a copy of the caller's context (its principal, its trace) for the thread.

        ``when_over`` is called on the event loop once the function has ended, or will never begin.
        """
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._context = contextvars.copy_context()
        self._function = function
        self._when_over = when_over
        self._turn = threading.Lock()
        """Acquired once: by the thread that begins, or by :meth:`withdraw`."""

    def withdraw(self) -> bool:
        """Whether no thread has begun; then none ever will."""
        if not self._turn.acquire(blocking=False):
            return False
        self._when_over(self)
        return True

    def run(self) -> None:
        """Call the function, on this thread, if somebody still waits for its answer."""
        if not self._turn.acquire(blocking=False):
            return
        outcome: tuple[Any, BaseException | None] = (None, None)
        if not self.future.cancelled():
            try:
                outcome = (self._context.run(self._function), None)
            except BaseException as error:  # noqa: BLE001 - raised again where the future is awaited
                outcome = (None, error)
        with suppress(RuntimeError):  # The event loop is closed: it had no time to wait for this.
            self.future.get_loop().call_soon_threadsafe(self._settle, *outcome)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        self._when_over(self)
        if self.future.cancelled():
            return  # Nobody waits any more.
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Threads:
    """What ``ThreadPoolExecutor`` does, with one hand-over instead of two futures: every request passes here.

    With a ``share``, no caller has more threads than that at once, and its other jobs wait: so a thread is free for the
    job of somebody else. Everything but the jobs themselves happens on the event loop, so counting needs no lock.
    """

    def __init__(self, count: int, share: int | None = None) -> None:
        self._share = share
        self._started: Counter[str] = Counter()
        """By caller, the jobs that have a thread or get the next one."""
        self._waiting: defaultdict[str, deque[Job]] = defaultdict(deque)
        """By caller, the jobs beyond its share."""
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"lancespace-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def start(self, function: Callable[[], Any], caller: str = "", when_over: Callable[[], None] = lambda: None) -> Job:
        """Run a function as soon as a thread is free; ``when_over`` is called when it has ended or never will begin."""

        def free(job: Job) -> None:
            self._free(caller, job)
            when_over()

        job = Job(function, free)
        if self._share is None or self._started[caller] < self._share:
            self._started[caller] += 1
            self._jobs.put(job)
        else:
            self._waiting[caller].append(job)
        return job

    def _free(self, caller: str, job: Job) -> None:
        """Give the place of a job that is over to the caller's next one."""
        waiting = self._waiting.get(caller)
        if waiting and job in waiting:
            waiting.remove(job)
        elif waiting:
            self._jobs.put(waiting.popleft())
        else:
            self._started[caller] -= 1
        if waiting is not None and not waiting:
            del self._waiting[caller]
        if not self._started[caller]:
            del self._started[caller]

    def close(self, seconds: float) -> int:
        """Wait at most that long for everything that was started; the number of threads that are still at work."""
        ends = time.monotonic() + seconds
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(max(ends - time.monotonic(), 0))
        return sum(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            del job  # A thread that waits must not keep data alive.

"""A fixed number of threads that run functions for an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Job:
    """A function that waits for a thread, and the future of its answer."""

    __slots__ = ("_context", "_function", "_turn", "future")

    def __init__(self, function: Callable[[], Any]) -> None:
        """Keep a copy of the caller's context (its principal, its trace) for the thread."""
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._context = contextvars.copy_context()
        self._function = function
        self._turn = threading.Lock()
        """Taken once and for all: by the thread that begins, or by whoever does not want that any more."""

    def withdraw(self) -> bool:
        """Whether no thread has begun; then none ever will."""
        return self._turn.acquire(blocking=False)

    def run(self) -> None:
        """Call the function, on this thread, if somebody still waits for its answer."""
        if self.future.cancelled() or not self._turn.acquire(blocking=False):
            return
        try:
            outcome: tuple[Any, BaseException | None] = (self._context.run(self._function), None)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever awaits the future
            outcome = (None, error)
        with suppress(RuntimeError):  # The event loop is closed: it had no time to wait for this.
            self.future.get_loop().call_soon_threadsafe(_settle, self.future, *outcome)


class Threads:
    """What ``ThreadPoolExecutor`` does, with one hand-over instead of two futures: every request passes here."""

    def __init__(self, count: int) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"lancespace-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def start(self, function: Callable[[], Any]) -> Job:
        """Run a function as soon as a thread is free."""
        job = Job(function)
        self._jobs.put(job)
        return job

    def close(self, seconds: float) -> int:
        """Wait so long for everything that was started, and say how many threads are still at work."""
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


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return  # Nobody waits any more.
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)

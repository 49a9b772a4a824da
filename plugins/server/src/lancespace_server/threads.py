"""A fixed number of threads that run functions for an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

Job = tuple[contextvars.Context, Callable[[], Any], "asyncio.Future[Any]"]


class Threads:
    """What ``ThreadPoolExecutor`` does, with one hand-over instead of two futures: every request passes here."""

    def __init__(self, count: int) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"lancespace-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def start(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run a function as soon as a thread is free, in a copy of the caller's context (its principal, its trace)."""
        future = asyncio.get_running_loop().create_future()
        self._jobs.put((contextvars.copy_context(), function, future))
        return future

    def close(self) -> None:
        """Wait for everything that was started."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            context, function, future = job
            try:
                outcome: tuple[Any, BaseException | None] = (context.run(function), None)
            except BaseException as error:  # noqa: BLE001 - raised again by whoever awaits the future
                outcome = (None, error)
            future.get_loop().call_soon_threadsafe(_settle, future, *outcome)
            del job, context, function, future, outcome  # A thread that waits must not keep data alive.


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return  # Nobody waits any more.
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)

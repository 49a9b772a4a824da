"""Several worker processes: started, replaced when they die, and stopped together."""

from __future__ import annotations

import functools
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_MOST_DEATHS, _DEATHS_SECONDS = 20, 60.0
"""A server whose workers die more often than this is not worth keeping: whoever started it must hear of it."""


class Supervisor:
    """Runs a function in so many processes until this one is told to stop.

    They are spawned, not forked: Lance has threads, which do not survive a fork. What the function needs goes to them
    through a pipe, so no secret is on a command line or in a file.
    """

    def __init__(self, count: int, work: Callable[..., None], *arguments: Any, bury: Callable[[int], None]) -> None:
        """``work(*arguments, when_ready)`` is what each worker runs; it calls ``when_ready()`` when it has begun.

        ``bury`` is told the process id of a worker that died.
        """
        self._context = multiprocessing.get_context("spawn")
        self._news, self._teller = self._context.Pipe(duplex=False)
        self._count = count
        self._work = work
        self._arguments = arguments
        self._bury = bury
        self._ready: set[int] = set()
        self._deaths: deque[float] = deque(maxlen=_MOST_DEATHS)
        self._is_stopping = False
        self._has_failed = False

    def run(self, when_ready: Callable[[], None]) -> None:
        """Return when all are gone; a worker that cannot start stops the others too.

        ``when_ready`` is called once, when all have begun.

        Raises:
            SystemExit: If the server stops because of its workers.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        workers = [self._start() for _ in range(self._count)]
        is_announced = False
        while not self._is_stopping:
            connection.wait([self._news, *(worker.sentinel for worker in workers)], timeout=_LOOK_SECONDS)
            self._hear()
            if not is_announced and len(self._ready) >= self._count:
                is_announced = True
                when_ready()
            workers = [worker if worker.is_alive() else self._replace(worker) for worker in workers]
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()
        if self._has_failed:
            sys.exit(1)

    def _hear(self) -> None:
        while self._news.poll():
            self._ready.add(int(self._news.recv_bytes()))

    def _start(self) -> BaseProcess:
        worker = self._context.Process(target=_run, args=(self._work, self._arguments, self._teller))
        worker.start()
        return worker

    def _replace(self, worker: BaseProcess) -> BaseProcess:
        if self._is_stopping:
            return worker
        process_id = worker.pid or 0
        self._hear()
        if not self._is_worth_it(process_id, worker.exitcode or 0):
            _log.error("Worker %s ended with exit code %s; the server stops", process_id, worker.exitcode)
            self._is_stopping = self._has_failed = True
            return worker
        _log.warning("Worker %s died (%s); another one takes its place", process_id, worker.exitcode)
        self._ready.discard(process_id)
        self._bury(process_id)
        return self._start()

    def _is_worth_it(self, process_id: int, code: int) -> bool:
        """Whether another worker will do better: not if this one gave up (what is killed has a negative code)."""
        if code > 0 and process_id not in self._ready:
            return False
        now = time.monotonic()
        is_often = len(self._deaths) == _MOST_DEATHS and now - self._deaths[0] < _DEATHS_SECONDS
        self._deaths.append(now)
        return not is_often

    def _stop(self, *_: object) -> None:
        self._is_stopping = True


def _run(work: Callable[..., None], arguments: tuple[Any, ...], teller: connection.Connection[Any, Any]) -> None:
    """Work, in a process of its own, as long as the one that started it is there."""
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    work(*arguments, functools.partial(teller.send_bytes, str(os.getpid()).encode()))


def _outlive_nobody() -> None:
    """Stop when the supervisor is gone, killed perhaps: nobody else would, and the port would stay taken."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

"""Several worker processes: started, replaced when they die, and stopped together."""

from __future__ import annotations

import functools
import logging
import multiprocessing
import signal
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_READY = b"ready"


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
        self._is_stopping = False

    def run(self, when_ready: Callable[[], None]) -> None:
        """Return when all are gone; a worker that cannot start stops the others too.

        ``when_ready`` is called once, when all have begun.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        workers = [self._start() for _ in range(self._count)]
        ready = 0
        while not self._is_stopping:
            connection.wait([self._news, *(worker.sentinel for worker in workers)], timeout=_LOOK_SECONDS)
            while self._news.poll():
                self._news.recv_bytes()
                ready += 1
                if ready == self._count:
                    when_ready()
            workers = [worker if worker.is_alive() else self._replace(worker) for worker in workers]
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()

    def _start(self) -> BaseProcess:
        when_ready = functools.partial(self._teller.send_bytes, _READY)
        worker = self._context.Process(target=self._work, args=(*self._arguments, when_ready))
        worker.start()
        return worker

    def _replace(self, worker: BaseProcess) -> BaseProcess:
        if (worker.exitcode or 0) > 0:  # It gave up, and another one would too; what is killed has a negative code.
            _log.error("Worker %s ended with exit code %s; the server stops", worker.pid, worker.exitcode)
            self._is_stopping = True
        if self._is_stopping:
            return worker
        _log.warning("Worker %s died (%s); another one takes its place", worker.pid, worker.exitcode)
        self._bury(worker.pid or 0)
        return self._start()

    def _stop(self, *_: object) -> None:
        self._is_stopping = True

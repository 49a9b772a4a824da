"""The worker processes: started, replaced when they die, and stopped together."""

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
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

from lancespace_server import memory
from lancespace_server.custody import Custody

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

    from lancespace_server.settings import ServerSettings

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.05
"""How often the memory of the workers is looked at."""

_MOST_DEATHS, _DEATHS_SECONDS = 20, 60.0
"""A server whose workers die more often than this is not worth keeping: whoever started it must hear of it."""


@dataclass
class _Post:
    """A worker, and what the supervisor holds of it."""

    process: BaseProcess
    listener: socket.socket
    custody: Custody


class Supervisor:
    """Runs a function in so many processes until this one is told to stop.

    They are spawned, not forked: Lance has threads, which do not survive a fork. What the function needs goes to them
    through a pipe, so no secret is on a command line or in a file.
    """

    def __init__(
        self,
        settings: ServerSettings,
        work: Callable[..., None],
        *arguments: Any,
        listen: Callable[[], socket.socket],
        bury: Callable[[int], None],
    ) -> None:
        """``work(*arguments, listener, register, when_ready)`` is what each worker runs.

        It calls ``when_ready()`` when it has begun. ``listen`` makes the socket of a worker. ``bury`` is told the
        process id of a worker that died.
        """
        self._context = multiprocessing.get_context("spawn")
        self._news, self._teller = self._context.Pipe(duplex=False)
        self._count = settings.processes()
        self._most_connections = settings.max_connections
        self._most_bytes = settings.max_worker_bytes or memory.default_limit(self._count)
        self._work = work
        self._arguments = arguments
        self._listen = listen
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
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._forward)
        _allow_files()
        workers = [self._start(self._listen()) for _ in range(self._count)]
        is_announced = False
        while not self._is_stopping:
            heard: list[Any] = [self._news, *(worker.custody for worker in workers)]
            connection.wait([*heard, *(worker.process.sentinel for worker in workers)], _LOOK_SECONDS)
            self._hear()
            for worker in workers:
                worker.custody.hear()
                self._check_memory(worker.process)
            if not is_announced and len(self._ready) >= self._count:
                is_announced = True
                when_ready()
            workers = [worker if worker.process.is_alive() else self._replace(worker) for worker in workers]
        for worker in workers:
            worker.process.terminate()
            worker.listener.close()
        while any(worker.process.is_alive() for worker in workers):
            heard = [worker.process.sentinel for worker in workers if worker.process.is_alive()]
            heard += [worker.custody for worker in workers]
            connection.wait(heard, _LOOK_SECONDS)
            for worker in workers:
                worker.custody.hear()
        if self._has_failed:
            sys.exit(1)

    def _hear(self) -> None:
        while self._news.poll():
            self._ready.add(int(self._news.recv_bytes()))

    def _start(self, listener: socket.socket) -> _Post:
        custody = Custody(self._context, self._most_connections)
        arguments = (*self._arguments, listener, custody.register)
        worker = self._context.Process(target=_run, args=(self._work, arguments, self._teller))
        worker.start()
        return _Post(worker, listener, custody)

    def _check_memory(self, worker: BaseProcess) -> None:
        """End a worker that takes too much, before all memory is gone."""
        used = memory.used_by(worker.pid or 0)
        if used > self._most_bytes and worker.is_alive():
            _log.error("Worker %s takes %s bytes of memory, and %s are allowed", worker.pid, used, self._most_bytes)
            worker.kill()
            worker.join()

    def _replace(self, post: _Post) -> _Post:
        """Put another worker in the place of one that died, and answer the requests that it leaves behind.

        New connections go to the others meanwhile; if there are none, they wait for the new worker.
        """
        if self._is_stopping:
            return post
        worker, listener = post.process, post.listener
        process_id = worker.pid or 0
        self._hear()
        if self._count > 1:
            post.custody.end(listener)
            listener.close()
            listener = self._listen()
        else:
            post.custody.end(None)
        if not self._is_worth_it(process_id, worker.exitcode or 0):
            _log.error("Worker %s ended with exit code %s; the server stops", process_id, worker.exitcode)
            self._is_stopping = self._has_failed = True
            return post
        _log.warning("Worker %s died (%s); another one takes its place", process_id, worker.exitcode)
        self._ready.discard(process_id)
        self._bury(process_id)
        return self._start(listener)

    def _is_worth_it(self, process_id: int, code: int) -> bool:
        """Whether another worker will do better: not if this one gave up (what is killed has a negative code).

        Those that served and were killed do not count: no caller may end the server by what kills a worker.
        """
        has_served = process_id in self._ready
        if code < 0 and has_served:
            return True
        if code > 0 and not has_served:
            return False
        now = time.monotonic()
        is_often = len(self._deaths) == _MOST_DEATHS and now - self._deaths[0] < _DEATHS_SECONDS
        self._deaths.append(now)
        return not is_often

    def _forward(self, number: int, _: object) -> None:
        """Pass a signal on to the workers; those that are starting have read nothing yet that could be old."""
        for process_id in tuple(self._ready):
            with suppress(ProcessLookupError):
                os.kill(process_id, number)

    def _stop(self, *_: object) -> None:
        self._is_stopping = True


def _allow_files() -> None:
    """Raise the soft limit of open files to the hard one: this process holds the connections of all workers."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _run(work: Callable[..., None], arguments: tuple[Any, ...], teller: connection.Connection[Any, Any]) -> None:
    """Work, in a process of its own, as long as the one that started it is there."""
    memory.offer_to_kernel()
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    work(*arguments, functools.partial(teller.send_bytes, str(os.getpid()).encode()))


def _outlive_nobody() -> None:
    """Stop when the supervisor is gone, killed perhaps: nobody else would, and the port would stay taken."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

"""Real processes for the tests: forked, each time, from one that has imported everything and used nothing."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["plugins.dir.tests.warm"])

TIMEOUT = 120
"""Seconds after which a process is taken to hang."""


class Failure(Exception):  # noqa: N818 - it is what a process reported
    """A process raised; the message is its traceback."""


class Process:
    """A function that runs in a process of its own; its module must be importable there."""

    def __init__(self, function: Callable[..., Any], *arguments: object) -> None:
        self._receiver, sender = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_run, args=(sender, function, arguments))
        self._process.start()
        sender.close()

    def result(self) -> Any:
        """What the function returned.

        Raises:
            Failure: If it raised.
            EOFError: If the process died.
        """
        try:
            if not self._receiver.poll(TIMEOUT):
                raise TimeoutError(f"the process {self._process.pid} did not answer within {TIMEOUT} seconds")
            is_failure, value = self._receiver.recv()
        finally:
            self.end()
        if is_failure:
            raise Failure(value)
        return value

    def exit_code(self) -> int:
        """How the process ended: a signal is a negative number."""
        self._process.join(TIMEOUT)
        code = self._process.exitcode
        self.end()
        if code is None:
            raise TimeoutError(f"the process did not end within {TIMEOUT} seconds")
        return code

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self._receiver.close()


def together(function: Callable[..., Any], arguments: Sequence[tuple[object, ...]]) -> list[Any]:
    """Run a function in several processes at once; it is given a barrier to start at the same moment, and the rest."""
    barrier = _CONTEXT.Barrier(len(arguments))
    processes = [Process(function, barrier, *given) for given in arguments]
    return [process.result() for process in processes]


def _run(sender: Connection, function: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    try:
        answer = (False, function(*arguments))
    except BaseException:  # noqa: BLE001 - it is raised again in the test
        answer = (True, traceback.format_exc())
    sender.send(answer)
    sender.close()

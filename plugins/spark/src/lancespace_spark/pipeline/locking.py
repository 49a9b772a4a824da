"""One run of a pipeline at a time: two would both append what is new.

A run claims the pipeline with a file that exactly one of several can create, shows every few seconds in another file
that it is alive, and deletes both at its end. A claim whose owner is gone is followed by one with the next number, and
deleted. A run that was paused and is taken to be gone finds that out between its steps, as its own claim is no longer
there; what it saves after that is refused (:mod:`.state`), and so are its commits.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lance_namespace import ConcurrentModificationError

from lancespace_jobs import is_gone
from lancespace_spark.pipeline.state import FOLDER

if TYPE_CHECKING:
    from lancespace_jobs import JobFiles

HEARTBEAT = 10.0
LAPSE = 90.0
"""Seconds without a sign after which a run is taken to be gone: later than its jobs are, which take 60."""


def owner() -> str:
    """Who runs here: the host and the process, as in the records of jobs."""
    return f"{socket.gethostname()}:{os.getpid()}"


@contextmanager
def locked(files: JobFiles, name: str) -> Iterator[PipelineLock]:
    """Around a run.

    Raises:
        ConcurrentModificationError: If another run is under way.
    """
    lock = PipelineLock(files, name)
    lock.claim()
    try:
        yield lock
    finally:
        lock.release()


class PipelineLock:
    """The claim of one run on a pipeline."""

    def __init__(self, files: JobFiles, name: str) -> None:
        self._files = files
        self._name = name
        self._folder = f"{FOLDER}/{name}.runs"
        self._number = 0
        self._claim = _sign(claim=uuid.uuid4().hex)
        self._is_over = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="lancespace-pipeline", daemon=True)

    def claim(self) -> None:
        """Take the pipeline, or say who has it."""
        latest = max(self._numbers(), default=0)
        holder = self._holder(latest)
        if holder is not None and not _is_gone(holder):
            raise self._refusal(holder["owner"])
        self._number = latest + 1
        if not self._files.create(self._path(self._number), self._claim):
            raise self._refusal("another one that was faster")
        self.check()
        for number in range(1, latest + 1):
            self._delete(number)
        self._beating.start()

    def check(self) -> None:
        """Between steps: whether the claim still holds; a process that slept may have lost it.

        Raises:
            ConcurrentModificationError: If another run has taken over.
        """
        is_there = self._files.read(self._path(self._number)) == self._claim
        if not is_there or max(self._numbers(), default=0) > self._number:
            raise self._refusal("a run that took over, as this one gave no sign for long")

    def release(self) -> None:
        """Let the next run begin."""
        self._is_over.set()
        self._beating.join()
        if self._files.read(self._path(self._number)) == self._claim:
            self._delete(self._number)

    def _beat(self) -> None:
        while not self._is_over.wait(HEARTBEAT):
            try:
                if max(self._numbers(), default=0) > self._number:
                    return
                self._files.replace(self._path_of_sign(self._number), _sign())
            except OSError:  # The store may be out of reach for a while.
                continue

    def _delete(self, number: int) -> None:
        self._files.delete(self._path(number))
        self._files.delete(self._path_of_sign(number))

    def _numbers(self) -> list[int]:
        return [int(name) for name in self._files.names(self._folder) if name.isdigit()]

    def _holder(self, number: int) -> Any:
        data = self._files.read(self._path(number)) if number else None
        if data is None:
            return None
        sign = self._files.read(self._path_of_sign(number))
        return json.loads(data) | ({} if sign is None else json.loads(sign))

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number}"

    def _path_of_sign(self, number: int) -> str:
        return f"{self._folder}/{number}.alive"

    def _refusal(self, by: str) -> ConcurrentModificationError:
        return ConcurrentModificationError(
            f"the pipeline {self._name!r} is being run by {by}: wait for the end of that run; if it is gone, a new one "
            f"can begin after {LAPSE:.0f} s, on the same machine at once"
        )


def _sign(**more: str) -> bytes:
    return json.dumps({"owner": owner(), "at": time.time(), **more}).encode()


def _is_gone(holder: dict[str, Any]) -> bool:
    """Whether the owner has given no sign for long, or was a process of this machine that is no more."""
    return time.time() - float(holder["at"]) > LAPSE or is_gone(str(holder["owner"]))

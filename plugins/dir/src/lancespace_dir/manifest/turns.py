"""Taking turns: processes on one machine queue for commits instead of racing.

Commits exclude each other anyway; without a queue, the losers of a race have worked for nothing. And because the first
commit of a turn has to take in what others did, a turn lasts for as long as more commits keep coming, within limits
that keep it fair. The queue is a lock file in the system's temporary directory, nothing in the catalog; where there
is none, that costs only speed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from lancespace.storage import Storage

LONGEST_TURN = 0.1
"""Seconds after which a turn ends although more commits are coming."""
MOST_COMMITS = 20
"""Commits after which it ends."""
IDLE = 0.002
"""Seconds that a turn waits for another commit."""


class Turns:
    """The queue of one catalog; for catalogs that are not on this machine there is none.

    Not for several threads at once: the leader of a process's commits takes its turns.
    """

    def __init__(self, storage: Storage, purpose: str) -> None:
        self._path: Path | None = None
        if storage.is_local:
            digest = hashlib.sha256(storage.location.encode()).hexdigest()[:24]
            self._path = Path(tempfile.gettempdir()) / f"lancespace-{os.getuid()}-{digest}-{purpose}.lock"
        self._file: IO[bytes] | None = None
        self._since = 0.0
        self._commits = 0
        self._is_used = False
        self._rests_since = 0.0
        self._watcher: threading.Thread | None = None
        self._state = threading.Condition()

    @contextmanager
    def mine(self) -> Iterator[None]:
        """Wait for this process's turn, or go on with it; it ends with the process, however that ends."""
        if self._path is None:
            yield
            return
        self._take(self._path)
        try:
            yield
        finally:
            self._rest()

    @contextmanager
    def if_free(self) -> Iterator[bool]:
        """True, and our turn, if it is nobody else's."""
        if self._path is None:
            yield True
            return
        file = _open(self._path)
        if file is None:
            yield True
            return
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def _take(self, path: Path) -> None:
        with self._state:
            self._is_used = True
            if self._file is not None:
                return
        file = _open(path)
        if file is None:
            return
        fcntl.flock(file, fcntl.LOCK_EX)
        with self._state:
            self._file, self._since, self._commits = file, time.monotonic(), 0
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="lancespace-turns", daemon=True)
                self._watcher.start()
            self._state.notify()

    def _rest(self) -> None:
        with self._state:
            self._is_used, self._rests_since = False, time.monotonic()
            self._commits += 1
            if self._commits >= MOST_COMMITS or self._rests_since - self._since >= LONGEST_TURN:
                self._end()

    def _watch(self) -> None:
        """End turns that nobody goes on with."""
        with self._state:
            while True:
                self._state.wait(None if self._file is None else IDLE)
                if not self._is_used and time.monotonic() - self._rests_since >= IDLE:
                    self._end()

    def _end(self) -> None:
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._file.close()
            self._file = None


def _open(path: Path) -> IO[bytes] | None:
    """The lock file, or None where none can be made: then commits race, which is slower and as safe."""
    try:
        return path.open("ab")
    except OSError:
        return None

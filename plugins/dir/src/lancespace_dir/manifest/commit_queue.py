"""Processes on one machine queue for commits instead of racing.

Commits exclude each other anyway; without a queue, the losers of a race have worked for nothing. And because the first
commit of a turn has to take in what others did, a turn lasts for as long as more commits keep coming, within limits
that keep it fair. The queue is a pair of lock files in the system's temporary directory, nothing in the catalog; the
last one to leave deletes them. It is there for speed alone: where there are no such files, or a turn does not end,
commits race.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

try:
    import fcntl

    HAS_LOCKS = True
except ImportError:  # On Windows.
    HAS_LOCKS = False

if TYPE_CHECKING:
    from lancespace.authoring import Storage

LONGEST_TURN = 0.1
"""Seconds after which a turn ends although more commits are coming."""
MOST_COMMITS = 20
"""Commits after which it ends."""
IDLE = 0.002
"""Seconds that a turn waits for another commit."""
PATIENCE = 10.0
"""Seconds after which a commit no longer waits for its turn: somebody was stopped in the middle of one."""
KEEPER_STAYS = 5.0
"""Seconds after which the thread that waits and keeps is gone, if no turn was wanted."""

_QUEUE = ".queue"


class CommitQueue:
    """The queue of one catalog; for catalogs that are not on this machine there is none.

    Not for several threads at once: the leader of a process's commits takes its turns. A thread of its own waits in
    the queue and keeps the turn, so that the leader's wait can end, and so that a turn ends which nobody goes on with.
    """

    def __init__(self, storage: Storage, purpose: str) -> None:
        self._path: Path | None = None
        if HAS_LOCKS and storage.is_local:
            digest = hashlib.sha256(storage.location.encode()).hexdigest()[:24]
            self._path = Path(tempfile.gettempdir()) / f"lancespace-{os.getuid()}-{digest}-{purpose}.lock"
        self._state = threading.Condition()
        self._keeper: threading.Thread | None = None
        self._turn: IO[bytes] | None = None
        self._is_waiting = False
        self._waits_since = 0.0
        self._began = 0.0
        self._commits = 0
        self._is_used = False
        self._rests_since = 0.0
        self._has_queued = False
        _all.add(self)

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Wait for this process's turn, or go on with it; it ends with the process, however that ends."""
        if self._path is None:
            yield
            return
        try:
            self._take(self._path)
            yield
        finally:
            self._rest()

    @contextmanager
    def try_acquire(self) -> Iterator[bool]:
        """True, and our turn, if it is nobody else's."""
        if self._path is None:
            yield True
            return
        try:
            file = _lock(self._path, wait=False)
        except BlockingIOError:
            yield False
            return
        with _released(file):
            yield True
            if file is not None:
                with suppress(OSError):
                    self._path.unlink()

    def close(self) -> None:
        """End a turn that is not in use, at once: a process that ends may take its time."""
        with self._state:
            if not self._is_used:
                self._end()
                self._leave()

    def _take(self, path: Path) -> None:
        with self._state:
            self._is_used = True
            if self._turn is not None:
                return
            if not self._is_waiting:
                self._ask(path)
            patience = self._waits_since + PATIENCE - time.monotonic()
            self._state.wait_for(lambda: not self._is_waiting, max(0.0, patience))

    def _ask(self, path: Path) -> None:
        self._is_waiting, self._waits_since = True, time.monotonic()
        self._has_queued = True
        if self._keeper is None or not self._keeper.is_alive():
            self._keeper = threading.Thread(target=self._keep, args=(path,), name="lancespace-queue", daemon=True)
            self._keeper.start()
        self._state.notify_all()

    def _rest(self) -> None:
        with self._state:
            self._is_used, self._rests_since = False, time.monotonic()
            self._commits += 1
            if self._commits >= MOST_COMMITS or self._rests_since - self._began >= LONGEST_TURN:
                self._end()

    def _keep(self, path: Path) -> None:
        """Wait for turns that are wanted, and keep each until nobody goes on with it."""
        while True:
            with self._state:
                if not self._state.wait_for(lambda: self._is_waiting, KEEPER_STAYS):
                    self._keeper = None
                    self._leave()
                    return
            turn = _wait_in_queue(path)
            with self._state:
                self._turn, self._is_waiting = turn, False
                self._began, self._commits = time.monotonic(), 0
                self._state.notify_all()
                while self._turn is not None and not self._is_idle():
                    self._state.wait(IDLE)
                self._end()

    def _is_idle(self) -> bool:
        return not self._is_used and time.monotonic() - self._rests_since >= IDLE

    def _end(self) -> None:
        if self._turn is not None:
            _release(self._turn)
            self._turn = None

    def _leave(self) -> None:
        """Delete the files, unless another one is in the queue: then that one does."""
        if self._path is not None and self._has_queued and not self._is_waiting:
            self._has_queued = False
            _delete(self._path)


_all: weakref.WeakSet[CommitQueue] = weakref.WeakSet()
_open_files: weakref.WeakSet[IO[bytes]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for queue in list(_all):
        queue.close()


def _leave_to_parent() -> None:
    """In a child that was forked: turns and locks are the parent's, and must not last as long as the child."""
    _all.clear()
    for file in list(_open_files):
        file.close()


if HAS_LOCKS:
    os.register_at_fork(after_in_child=_leave_to_parent)


def _wait_in_queue(path: Path) -> IO[bytes] | None:
    """The locked file, or None where none can be made.

    A lock that is released goes to whoever is quickest, which is often the one who released it. So there is a second
    one: who has it is the next in the queue, and can be overtaken by nobody.
    """
    queue = _lock(path.with_suffix(_QUEUE), wait=True)
    with _released(queue):
        return _lock(path, wait=True)


def _delete(path: Path) -> None:
    """Delete both files, if nobody has or awaits them. Who has just opened one finds out, and makes another."""
    waiting = path.with_suffix(_QUEUE)
    try:
        with _released(_lock(waiting, wait=False)) as queue, _released(_lock(path, wait=False)) as turn:
            if queue is not None and turn is not None:
                path.unlink()
                waiting.unlink()
    except OSError:
        return  # Somebody has a turn, or waits for one, and deletes them later; or they cannot be deleted.


def _lock(path: Path, *, wait: bool) -> IO[bytes] | None:
    """The locked file, or None where none can be made; a file that was deleted meanwhile is none.

    Raises:
        BlockingIOError: If another one has it, and we are not to wait.
    """
    while (file := _open(path)) is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise
        if _is_at(path, file):
            return file
        file.close()
    return None


def _open(path: Path) -> IO[bytes] | None:
    try:
        file = path.open("ab", buffering=0)
    except OSError:
        return None
    _open_files.add(file)
    return file


@contextmanager
def _released(file: IO[bytes] | None) -> Iterator[IO[bytes] | None]:
    """Release a lock at the end of a block."""
    try:
        yield file
    finally:
        if file is not None:
            _release(file)


def _release(file: IO[bytes]) -> None:
    """Unlock a file, and not only close it: a process that was forked meanwhile has it open too."""
    fcntl.flock(file, fcntl.LOCK_UN)
    file.close()


def _is_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False

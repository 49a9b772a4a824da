"""Taking turns: processes on one machine queue for commits instead of racing.

Commits exclude each other anyway; without a queue, the losers of a race have worked for nothing. The queue is a lock
file in the system's temporary directory, nothing in the catalog, and doing without it costs only speed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lancespace.storage import scheme_of

if TYPE_CHECKING:
    from lancespace.storage import Storage


class Turns:
    """The queue of one catalog; for catalogs that are not on this machine there is none."""

    def __init__(self, storage: Storage, purpose: str) -> None:
        self._path: Path | None = None
        if scheme_of(storage.location) == "file":
            digest = hashlib.sha256(storage.location.encode()).hexdigest()[:24]
            self._path = Path(tempfile.gettempdir()) / f"lancespace-{os.getuid()}-{digest}-{purpose}.lock"

    @contextmanager
    def mine(self) -> Iterator[None]:
        """Wait for this process's turn; the lock goes with the process, however it ends."""
        if self._path is None:
            yield
            return
        with self._path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextmanager
    def if_free(self) -> Iterator[bool]:
        """True if it is nobody else's turn, which it then is ours."""
        if self._path is None:
            yield True
            return
        with self._path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

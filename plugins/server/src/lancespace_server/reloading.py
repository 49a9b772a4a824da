"""Files that are read again when they change: API keys, the keys of tokens, policies."""

from __future__ import annotations

import logging
import signal
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

Content = TypeVar("Content")

_SECONDS = 0.5
"""Between two looks at a file. It is read when two looks in a row find it the same: then nobody is writing to it."""

_log = logging.getLogger(__name__)


class Reloaded(Generic[Content]):
    """What a file says at this moment; if a new file cannot be used, what the last good one said."""

    def __init__(self, path: str, load: Callable[[str], Content]) -> None:
        """``load`` makes the content of a path, or raises; the first time, that is the caller's to handle."""
        self.path = path
        self._load = load
        self._read = self._seen = _state_of(path)
        self.value = load(path)
        self.has_failed = False
        """Whether the file has changed to something that cannot be used."""
        _WATCH.add(self)

    def look(self, *, at_once: bool) -> None:
        """Read the file if it has changed; ``at_once`` without a look whether it stays the same."""
        state, before = _state_of(self.path), self._seen
        self._seen = state
        if not at_once and (state == self._read or state != before):
            return
        try:
            self.value = self._load(self.path)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the new file, the old one still holds
            self.has_failed = True
            _log.error("The new file %s cannot be used, what it said before still holds: %s", self.path, error)
        else:
            self.has_failed = False
            _log.warning("The file %s was read again", self.path)
        self._read = state


class _Watch:
    """Looks at all files of the process, on one thread, as long as there are any."""

    def __init__(self) -> None:
        self._files: weakref.WeakSet[Reloaded[Any]] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_hurried = False

    def add(self, file: Reloaded[Any]) -> None:
        with self._lock:
            self._files.add(file)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lancespace-reload", daemon=True)
                self._thread.start()

    def failed(self) -> int:
        return len({file.path for file in self._known() if file.has_failed})

    def hurry(self, *_: object) -> None:
        """Safe in a signal handler: it takes no lock."""
        self._is_hurried = True

    def _known(self) -> list[Reloaded[Any]]:
        with self._lock:
            return list(self._files)

    def _run(self) -> None:
        while True:
            time.sleep(_SECONDS)
            at_once, self._is_hurried = self._is_hurried, False
            files = self._known()
            for file in files:
                file.look(at_once=at_once)
            del files
            with self._lock:
                if not self._files:
                    self._thread = None
                    return


_WATCH = _Watch()


def count_failed() -> int:
    """How many files have changed to something that cannot be used."""
    return _WATCH.failed()


def reload_on_signal() -> None:
    """Read all files again when the process gets SIGHUP, where there is such a signal."""
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, _WATCH.hurry)


def _state_of(path: str) -> tuple[int, ...] | None:
    """Changes whenever the file does: it is replaced, written to, or gone."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

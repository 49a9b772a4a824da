"""Where job records are kept: small files, in the catalog's storage or in memory."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from lancespace.authoring import Storage, find_cause

_TRIES = 10
_PAUSE = 0.01
_CHANGED = {errno.ENOTEMPTY, errno.EBUSY}
"""What a file system says if there is something new in a folder that is being deleted."""


class JobFiles(Protocol):
    """A few small files by relative path, ``folder/name``. All methods are safe from many threads and processes."""

    def read(self, path: str) -> bytes | None:
        """The content, or None if there is no such file."""

    def replace(self, path: str, data: bytes) -> None:
        """Write a file, in place of the one that is there."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless it is there; of several writers exactly one succeeds."""
        ...

    def names(self, folder: str) -> list[str]:
        """What is in a folder, files and folders, sorted; nothing if there is no such folder."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that is in it; what is already gone is no error."""

    def delete_unchanged(self, path: str, data: bytes) -> None:
        """Delete a file if this is its content."""


class MemoryFiles:
    """For a backend that has no place for records: they are gone with the connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, bytes] = {}

    def read(self, path: str) -> bytes | None:
        """See :class:`JobFiles`, as for the others."""
        with self._lock:
            return self._files.get(path)

    def replace(self, path: str, data: bytes) -> None:
        """The last writer wins."""
        with self._lock:
            self._files[path] = data

    def create(self, path: str, data: bytes) -> bool:
        """The first writer wins."""
        with self._lock:
            return self._files.setdefault(path, data) is data

    def names(self, folder: str) -> list[str]:
        """Folders are what paths begin with."""
        start = f"{folder}/" if folder else ""
        with self._lock:
            return sorted({path[len(start) :].partition("/")[0] for path in self._files if path.startswith(start)})

    def delete(self, path: str) -> None:
        """The file, and all below the path."""
        with self._lock:
            for known in [known for known in self._files if known == path or known.startswith(f"{path}/")]:
                del self._files[known]

    def delete_unchanged(self, path: str, data: bytes) -> None:
        """Under the lock."""
        with self._lock:
            if self._files.get(path) == data:
                del self._files[path]


class StoredFiles:
    """Files below a location of the catalog's storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def read(self, path: str) -> bytes | None:
        """One request."""
        try:
            data: bytes = self._storage.filesystem.cat_file(self._path(path))
        except FileNotFoundError as error:
            _refuse_known(error)
            return None
        return data

    def replace(self, path: str, data: bytes) -> None:
        """Readers see the old content or the new: object stores promise that, a local file is moved into place."""
        target = self._path(path)
        if not self._storage.is_local:
            self._storage.filesystem.pipe_file(target, data)
            return
        staged = Path(f"{target}.{os.getpid()}.{threading.get_ident()}.new")

        def put() -> None:
            staged.parent.mkdir(parents=True, exist_ok=True)
            staged.write_bytes(data)
            staged.replace(target)

        _again(put, lambda error: isinstance(error, (FileNotFoundError, FileExistsError)))

    def create(self, path: str, data: bytes) -> bool:
        """A condition of the store."""
        try:
            _again(
                lambda: self._storage.put_if_absent(self._path(path), data),
                lambda error: isinstance(error, FileNotFoundError),
            )
        except FileExistsError:
            return False
        return True

    def names(self, folder: str) -> list[str]:
        """One listing, without what the file system may remember of earlier ones."""
        target = self._path(folder)
        self._storage.filesystem.invalidate_cache(target)
        try:
            found = self._storage.filesystem.ls(target, detail=False)
        except (FileNotFoundError, NotADirectoryError) as error:
            _refuse_known(error)
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in found if path.rstrip("/") != target)

    def delete(self, path: str) -> None:
        """All of it, also while an equal job writes to the same folder."""
        target = self._path(path)
        is_local_file = self._storage.is_local and Path(target).is_file()

        def delete() -> None:
            if self._storage.exists(target):
                self._storage.delete_tree(target)

        _again(delete, lambda error: error.errno in _CHANGED)
        if is_local_file:
            with suppress(OSError):
                Path(target).parent.rmdir()  # Only if nothing is left in it.

    def delete_unchanged(self, path: str, data: bytes) -> None:
        """A condition of the store, where it has one."""
        target = self._path(path)
        for file, version in self._storage.list_tree(target).items():
            if self.read(path) == data:
                self._storage.delete_unchanged(file, version)

    def _path(self, path: str) -> str:
        return f"{self._storage.path()}/{path}" if path else self._storage.path()


def _again(attempt: Callable[[], object], is_passing: Callable[[OSError], bool]) -> None:
    """Repeat what fails because another job deletes, or writes to, the same folder."""
    for left in reversed(range(_TRIES)):
        try:
            attempt()
        except OSError as error:
            if not left or not is_passing(error):
                raise
            time.sleep((_TRIES - left) * _PAUSE)
        else:
            return


def _refuse_known(error: OSError) -> None:
    """Raise an error that says more than that a file is not there: its bucket may not be there, either."""
    if find_cause(error) is not None:
        raise error

"""The directory of a table as it was when a drop looked at it.

Between that look and the delete, another caller may drop the table and create one of the same name at the same place.
So what is deleted is what was seen, and nothing is found by its path a second time.
"""

from __future__ import annotations

import errno
import logging
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lancespace.authoring import is_staged
from lancespace_dir.root import DEREGISTERED, TABLE_SUFFIX, is_claim, new_claim, new_location

if TYPE_CHECKING:
    from lancespace.authoring import Storage

_log = logging.getLogger(__name__)

_ROUNDS = 20
_UNIQUE = frozenset({"data", "_transactions", "_deletions", "_indices"})
"""Directories of a table in which no file ever has the name of another table's."""


class SeenTable(ABC):
    """What a drop holds of a table's directory."""

    contents: list[str]
    """The names of what was in it."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self._path = path

    def remove(self, is_needed: Callable[[], bool]) -> bool:
        """Take the table out of sight and delete it; another one that is in its place by now stays as it is.

        Args:
            is_needed: Whether a table of the catalog has these files. It is asked when they are claimed: a caller that
                registers a table there enters it and then looks for claims, so one of the two sees the other.

        Returns:
            False if the files are needed and stay.

        Raises:
            FileNotFoundError: It is gone: another caller removed it.
        """
        claim = new_claim()
        self._claim(claim)
        try:
            if not is_needed():
                self._delete(claim)
                return True
            if not self.is_current():
                raise self._gone("another table has its place by now")
            return False
        finally:
            self._unclaim(claim)

    @abstractmethod
    def is_current(self) -> bool:
        """Whether it is still in its place."""

    def close(self) -> None:  # noqa: B027 - objects are not held
        """Give the directory up."""

    @abstractmethod
    def _claim(self, name: str) -> None:
        """Put a mark in it."""

    @abstractmethod
    def _unclaim(self, name: str) -> None:
        """Take the mark away, if it is still there."""

    @abstractmethod
    def _delete(self, claim: str) -> None:
        """Delete what was seen."""

    def _gone(self, why: str) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, why, self._path)


class _Directory(SeenTable):
    """An open directory of a file system, which stays the same one when it is renamed or another gets its path.

    Its entries are moved to a directory that nobody knows, the mark that hides the table last. So a crash leaves a
    hidden table, and a repeat goes on; whoever moves the mark has dropped the table.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        super().__init__(storage, path)
        try:
            self._opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except NotADirectoryError as error:
            raise FileNotFoundError(errno.ENOENT, "it is a file", path) from error
        self.contents = self._names()

    def is_current(self) -> bool:
        """Whether the path still leads to this directory; while it is open, no other one has its number."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._opened))  # noqa: PTH116
        except FileNotFoundError:
            return False

    def remove(self, is_needed: Callable[[], bool]) -> bool:
        """Of a symbolic link, only the link goes."""
        path = Path(self._path)
        if path.is_symlink():
            _log.warning("Dropped a table and kept its files: %r is a symbolic link to them", self._path)
            path.unlink()
            return True
        is_removed = super().remove(is_needed)
        if is_removed:
            with suppress(OSError):
                path.rmdir()  # Of what is not empty, by then another table, nothing happens.
        return is_removed

    def _claim(self, name: str) -> None:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=self._opened))

    def _unclaim(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._opened)

    def _delete(self, claim: str) -> None:
        """Move all of it elsewhere, and delete it there."""
        self._hide()
        place = Path(self._path)
        taken = place.parent / new_location(place.name.removesuffix(TABLE_SUFFIX))
        taken.mkdir()
        try:
            for _ in range(_ROUNDS):
                names = self._names(DEREGISTERED, claim)
                if not names:
                    break
                for name in names:
                    self._move(name, taken)
            else:
                raise BlockingIOError(errno.EBUSY, "others keep writing to the table: try again", self._path)
            os.rename(DEREGISTERED, taken / DEREGISTERED, src_dir_fd=self._opened)
        finally:
            self._storage.delete_tree(str(taken))

    def close(self) -> None:
        """Close the directory."""
        os.close(self._opened)

    def _names(self, *marks: str) -> list[str]:
        names = os.listdir(self._opened)  # noqa: PTH208 - a descriptor
        return [name for name in names if name not in marks and not is_staged(name)]

    def _hide(self) -> None:
        """Mark it as deregistered, unless another caller has just moved all of it away."""
        with suppress(FileExistsError):
            self._claim(DEREGISTERED)
            if all(map(is_claim, self._names(DEREGISTERED))):
                os.unlink(DEREGISTERED, dir_fd=self._opened)
                raise self._gone("another caller removed it")

    def _move(self, name: str, taken: Path) -> None:
        target = taken / name
        if target.exists():  # A writer made it again.
            target = taken / f"{name}-{uuid.uuid4().hex}"
        with suppress(FileNotFoundError):  # Another caller drops the table, too.
            os.rename(name, target, src_dir_fd=self._opened)


class _Objects(SeenTable):
    """The objects below a prefix, each with what tells it from another of the same name.

    A mark hides the table, and no table can be created at the prefix while it is there. Its content is unique: as long
    as that can be read, what was listed since it was written is the table that it hides.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        super().__init__(storage, path)
        self._mark = f"{path}/{DEREGISTERED}"
        self._files = storage.list_tree(path)
        if not self._files:
            raise FileNotFoundError(errno.ENOENT, "there are no objects", path)
        self.contents = sorted({self._inside(file).partition("/")[0] for file in self._files})

    def is_current(self) -> bool:
        """Whether one of its files is still there."""
        return bool(self._files.items() & self._storage.list_tree(self._path).items())

    def _claim(self, name: str) -> None:
        self._storage.put_if_absent(f"{self._path}/{name}", _content(), unique=True)

    def _unclaim(self, name: str) -> None:
        self._storage.delete_files([f"{self._path}/{name}"])

    def _delete(self, claim: str) -> None:
        """Hide the table, list it again, and delete what was listed."""
        content = self._hide()
        files = self._storage.list_tree(self._path)
        if not self._files.items() & files.items():
            self._unhide(content, files)
            raise self._gone("another table has its place by now")
        self._need_mark(content)
        files.pop(f"{self._path}/{claim}", None)
        mark = {file: files.pop(file) for file in [self._mark] if file in files}
        unique = {file for file in files if self._inside(file).partition("/")[0] in _UNIQUE}
        self._storage.delete_files(unique)
        for file in files.keys() - unique:
            self._storage.delete_unchanged(file, files[file])
        if not all([self._storage.delete_unchanged(file, version) for file, version in mark.items()] or [False]):
            raise self._gone("another caller dropped the table")

    def _hide(self) -> bytes:
        """Mark the table; the content of the mark that hides it then."""
        content = _content()
        try:
            self._storage.put_if_absent(self._mark, content, unique=True)
        except FileExistsError:
            content = bytes(self._storage.filesystem.cat_file(self._mark))
        return content

    def _unhide(self, content: bytes, files: Mapping[str, str]) -> None:
        """Take our own mark away from a table that is not the one that was seen."""
        if self._mark not in self._files and self._mark in files:
            self._need_mark(content)
            self._storage.delete_unchanged(self._mark, files[self._mark])

    def _need_mark(self, content: bytes) -> None:
        if bytes(self._storage.filesystem.cat_file(self._mark)) != content:
            raise self._gone("another caller dropped the table")

    def _inside(self, file: str) -> str:
        return file[len(self._path) + 1 :]


def _content() -> bytes:
    return f"dropped by {uuid.uuid4().hex}".encode()


def see(storage: Storage, location: str) -> SeenTable:
    """Look at the directory of a table.

    Raises:
        FileNotFoundError: There is none.
    """
    path = f"{storage.path()}/{location}"
    return _Directory(storage, path) if storage.is_local else _Objects(storage, path)

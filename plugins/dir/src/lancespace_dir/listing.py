"""V1: tables are the ``<name>.lance`` directories of the root; markers in them say reserved or deregistered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, UnsupportedOperationError

from lancespace import identifiers
from lancespace.storage import scheme_of
from lancespace_dir.root import TABLE_SUFFIX, root_location

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from lancespace.storage import Storage

RESERVED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"


class Listing:
    """The tables that the directory itself shows."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def exists(self, name: str) -> bool:
        """Whether there is such a table directory, with something in it, that is not deregistered."""
        location = root_location(name)
        return self.is_occupied(location) and not self.is_hidden(location)

    def names(self, beside: Collection[str] = ()) -> Iterator[str]:
        """The names of all tables, sorted, without those that the caller knows."""
        known = frozenset(beside)
        for name in self._directories():
            if name not in known and not self.is_hidden(root_location(name)):
                yield name

    def is_occupied(self, location: str) -> bool:
        """Whether anything is at a location."""
        try:
            return bool(self._storage.filesystem.ls(self._path(location), detail=False))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def is_hidden(self, location: str) -> bool:
        """Whether a table directory is marked as deregistered."""
        return self._storage.exists(self._path(location, DEREGISTERED))

    def is_created(self, location: str) -> bool:
        """Whether a table directory has a first version, or is only declared."""
        try:
            found = self._storage.filesystem.ls(self._path(location, "_versions"), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return any(str(path).endswith(".manifest") for path in found)

    def reserve(self, location: str) -> None:
        """Mark a table directory as declared.

        Raises:
            FileExistsError: If it is marked already.
        """
        self._storage.put_if_absent(self._path(location, RESERVED), b"")

    def hide(self, location: str) -> None:
        """Mark a table directory as deregistered; twice is as good as once."""
        try:
            self._storage.put_if_absent(self._path(location, DEREGISTERED), b"")
        except FileExistsError:
            return

    def show(self, location: str) -> None:
        """Take the mark away again."""
        if self.is_hidden(location):
            self._storage.filesystem.rm(self._path(location, DEREGISTERED))

    def move(self, source: str, target: str) -> None:
        """Rename a table directory in one step.

        Raises:
            UnsupportedOperationError: In a store that has no directories to rename.
        """
        if scheme_of(self._storage.location) != "file":
            raise UnsupportedOperationError(
                "Renaming a V1 table would copy its data in this store: connect with manifest_enabled=true, "
                "which renames in place."
            )
        Path(self._path(source)).rename(self._path(target))

    def delete(self, location: str) -> None:
        """Delete a table directory, its mark last: what a crash leaves stays hidden, and a repeat goes on."""
        path = self._path(location)
        for entry in self._contents(path):
            if not entry.endswith(f"/{DEREGISTERED}"):
                self._storage.delete_tree(entry)
        self._storage.delete_tree(path)

    def _contents(self, path: str) -> list[str]:
        try:
            return [str(entry) for entry in self._storage.filesystem.ls(path, detail=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _directories(self) -> list[str]:
        found = (entry.rstrip("/").rpartition("/")[2] for entry in self._contents(self._storage.path()))
        names = (name[: -len(TABLE_SUFFIX)] for name in found if name.endswith(TABLE_SUFFIX))
        return sorted(name for name in names if name and _is_name(name))

    def _path(self, location: str, *inside: str) -> str:
        return "/".join((self._storage.path(), location, *inside))


def _is_name(name: str) -> bool:
    """Whether a directory's name can be a table's: one that nobody could ask for is not listed."""
    try:
        identifiers.validate((name,))
    except InvalidInputError:
        return False
    return True

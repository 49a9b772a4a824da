"""V1: tables are the ``<name>.lance`` directories of the root; markers in them say reserved or deregistered."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, UnsupportedOperationError

from lancespace import identifiers
from lancespace.storage import scheme_of
from lancespace.storage.local import STAGED_PREFIX
from lancespace_dir.root import TABLE_SUFFIX, new_location, root_location

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from lancespace.storage import Storage

RESERVED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"


class Listing:
    """The tables that the directory itself shows.

    Beside a manifest, a directory that was reserved for one of its tables does not show by itself: that table exists
    as long as the manifest says so, and what is left when its row is gone is no table. The mark tells. It names the
    catalog, so that a directory which is copied to another one shows there.
    """

    def __init__(self, storage: Storage, *, beside_manifest: bool = False) -> None:
        self._storage = storage
        catalog = hashlib.sha256(storage.location.encode()).hexdigest()[:32]
        self._note = f"in the manifest of {catalog}".encode() if beside_manifest else b""

    def exists(self, name: str) -> bool:
        """Whether there is such a table directory, with something in it, that is not deregistered."""
        location = root_location(name)
        contents = {entry.rpartition("/")[2] for entry in self._contents(self._path(location))}
        if not contents or DEREGISTERED in contents:
            return False
        return not (self._note and RESERVED in contents and self._is_of_manifest(location))

    def names(self, beside: Collection[str] = ()) -> Iterator[str]:
        """The names of all tables, sorted, without those that the caller knows."""
        known = frozenset(beside)
        for name in self._directories():
            if name not in known and self.exists(name):
                yield name

    def is_occupied(self, location: str) -> bool:
        """Whether anything is at a location."""
        return bool(self._contents(self._path(location)))

    def is_hidden(self, location: str) -> bool:
        """Whether a table directory is marked as deregistered."""
        return self._storage.exists(self._path(location, DEREGISTERED))

    def reserve(self, location: str) -> None:
        """Mark a table directory as declared.

        Raises:
            FileExistsError: If it is marked already.
        """
        self._storage.put_if_absent(self._path(location, RESERVED), self._note)

    def hide(self, location: str) -> bool:
        """Mark a table directory as deregistered; False if it is marked already, as by somebody who was faster."""
        try:
            self._storage.put_if_absent(self._path(location, DEREGISTERED), b"")
        except FileExistsError:
            return False
        return True

    def show(self, location: str) -> None:
        """Take the mark of a deregistration away again."""
        self._storage.delete_tree(self._path(location, DEREGISTERED))

    def move(self, source: str, target: str) -> None:
        """Rename a table directory in one step.

        Raises:
            UnsupportedOperationError: In a store that has no directories to rename.
            FileNotFoundError: If it is gone.
            FileExistsError: If the target is occupied.
        """
        if not self._has_directories():
            raise UnsupportedOperationError(
                "Renaming a V1 table would copy its data in this store: connect with manifest_enabled=true, "
                "which renames in place."
            )
        try:
            Path(self._path(source)).rename(self._path(target))
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                raise FileExistsError(f"{self._path(target)} is occupied") from error
            raise

    def withdraw(self, location: str) -> str:
        """Take a table directory out of everybody's sight, and return where it is now.

        Where directories can be renamed this is one step, in which one of several callers succeeds.

        Raises:
            FileNotFoundError: If it is gone.
        """
        if not self._has_directories():
            self.hide(location)
            return location
        withdrawn = new_location(location.removesuffix(TABLE_SUFFIX))
        self.move(location, withdrawn)
        return withdrawn

    def delete(self, location: str) -> None:
        """Delete a table directory, its mark last: what a crash leaves stays hidden, and a repeat goes on."""
        path = self._path(location)
        for entry in self._contents(path):
            if not entry.endswith(f"/{DEREGISTERED}"):
                self._storage.delete_tree(entry)
        self._storage.delete_tree(path)

    def _is_of_manifest(self, location: str) -> bool:
        try:
            return bool(self._storage.filesystem.cat_file(self._path(location, RESERVED)) == self._note)
        except FileNotFoundError:
            return True  # It was there a moment ago: the table is being dropped.

    def _has_directories(self) -> bool:
        """Whether the store can rename a directory, rather than copy every object in it."""
        return scheme_of(self._storage.location) == "file"

    def _contents(self, path: str) -> list[str]:
        """What is in a directory; the listing of a file is the file itself."""
        try:
            found = [str(entry) for entry in self._storage.filesystem.ls(path, detail=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        inside = (entry for entry in found if entry.rstrip("/") != path)
        return [entry for entry in inside if not entry.rpartition("/")[2].startswith(STAGED_PREFIX)]

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

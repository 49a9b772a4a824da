"""V1: tables are the ``<name>.lance`` directories of the root; markers in them say reserved or deregistered."""

from __future__ import annotations

import errno
import hashlib
import os
import uuid
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, UnsupportedOperationError

from lancespace.authoring import identifiers, is_staged, read, require_conditions, scheme_of
from lancespace_dir.root import DEREGISTERED, RESERVED, TABLE_SUFFIX, is_claim, new_claim, root_location
from lancespace_dir.seen import SeenTable, see
from lancespace_dir.sessions import is_same_for_all, open_session, takes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from lance.file import LanceFileSession

    from lancespace.authoring import Storage


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
        return self.shows(location, self.contents(location))

    def is_marked(self, location: str, contents: Collection[str]) -> bool:
        """Whether a directory with these contents was reserved for a table of this manifest."""
        return bool(self._note) and RESERVED in contents and self._is_of_manifest(location)

    @property
    def location(self) -> str:
        """The root."""
        return self._storage.location

    def shows(self, location: str, contents: Collection[str]) -> bool:
        """Whether a directory with these contents is a table by itself."""
        if DEREGISTERED in contents or all(map(is_claim, contents)):
            return False
        return not self.is_marked(location, contents)

    def contents(self, location: str) -> list[str]:
        """The names of what is in a directory; of one that is not there, nothing.

        In an object store this is one request. fsspec would also list the directory above, to see whether there is a
        file of this name.
        """
        found = None if self._storage.is_local else self._looked_up(location)
        if found is None:
            found = self._listed(self._path(location) if location else self._storage.path())
        names = (entry.rstrip("/").rpartition("/")[2] for entry in found)
        return [name for name in names if not is_staged(name)]

    def names(self, after: str | None = None) -> Iterator[str]:
        """The names of all tables from after a name on, sorted."""
        return filter(self.is_table, self.directories(after))

    def directories(self, after: str | None = None) -> list[str]:
        """The names of table directories from after a name on, sorted; :meth:`is_table` tells which are tables."""
        names = (name[: -len(TABLE_SUFFIX)] for name in self.contents("") if name.endswith(TABLE_SUFFIX))
        return sorted(name for name in names if name and (after is None or name > after))

    def is_table(self, name: str) -> bool:
        """Whether a directory that was listed is a table."""
        return _is_name(name) and self.exists(name)

    def is_occupied(self, location: str) -> bool:
        """Whether anything is at a location."""
        return bool(self.contents(location))

    def is_hidden(self, location: str) -> bool:
        """Whether a table directory is marked as deregistered."""
        return self._storage.exists(self._path(location, DEREGISTERED))

    def reserve(self, location: str) -> None:
        """Mark a table directory as declared.

        Raises:
            FileExistsError: If it is marked already.
        """
        if not self._note:  # Beside a manifest, whoever began that has asked.
            require_conditions(self._storage)
        self._storage.put_if_absent(self._path(location, RESERVED), self._note + _signature(), unique=True)

    def hide(self, location: str) -> bool:
        """Mark a table directory as deregistered; False if it is marked already, as by somebody who was faster."""
        try:
            self._storage.put_if_absent(self._path(location, DEREGISTERED), _signature(), unique=True)
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
        if not self.has_directories:
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

    def see(self, location: str) -> SeenTable:
        """A table directory as it is now, so that this one can be removed and no other.

        Raises:
            FileNotFoundError: There is none.
        """
        return see(self._storage, location)

    def delete(self, locations: Iterable[str], needed: Callable[[Collection[str]], Collection[str]]) -> Collection[str]:
        """Delete directories that no table has any more.

        Each is claimed first. Only then the catalog is asked which of them a table has: who registers one enters it
        and then looks for claims, so one of the two sees the other.

        Args:
            locations: The directories.
            needed: Tells which of the given directories tables have.

        Returns:
            Those that tables have; they stay.
        """
        # A look costs nothing on a disk. In an object store it costs as much as the claim.
        claims = {
            location: self.claim(location)
            for location in locations
            if not self._storage.is_local or self.is_occupied(location)
        }
        kept = set(needed(claims.keys())) if claims else set()
        for location, claim in claims.items():
            if location in kept:
                self._storage.delete_tree(claim)
            else:
                self._storage.delete_tree(self._path(location), last=claim)
        return kept

    def claim(self, location: str) -> str:
        """Mark a directory that is to be deleted, and return the path of the mark."""
        path = self._path(location, new_claim())
        self._storage.put_if_absent(path, _signature(), unique=True)
        return path

    def _is_of_manifest(self, location: str) -> bool:
        try:
            return bool(self._storage.filesystem.cat_file(self._path(location, RESERVED)).startswith(self._note))
        except FileNotFoundError:
            return True  # It was there a moment ago: the table is being dropped.

    def is_link(self, location: str) -> bool:
        """Whether a location is a symbolic link to a directory of somebody else's."""
        return self._storage.is_local and Path(self._path(location)).is_symlink()

    @property
    def has_directories(self) -> bool:
        """Whether the store can rename a directory, rather than copy every object in it; then one of several does."""
        return scheme_of(self._storage.location) == "file"

    def _looked_up(self, location: str) -> list[str] | None:
        """What pylance lists in a directory; None where it may not mean what fsspec means.

        It takes some characters for escapes, and in some stores it answers with escapes.
        """
        if not (takes(location) and is_same_for_all(self._storage)):
            return None
        listed = read(lambda: self._session.list_with_delimiter(location or None))
        found = [*listed.common_prefixes, *listed.objects]
        return None if any("%" in entry for entry in found) else found

    def _listed(self, path: str) -> list[str]:
        """What is in a directory, by fsspec, for which the listing of a file is the file itself."""
        try:
            if self._storage.is_local:
                return os.listdir(path)  # noqa: PTH208 - fsspec and Path look at each file, and there may be many
            found = [str(entry) for entry in self._storage.filesystem.ls(path, detail=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [entry for entry in found if entry.rstrip("/") != path]

    @cached_property
    def _session(self) -> LanceFileSession:
        return open_session(self._storage, "")

    def _path(self, location: str, *inside: str) -> str:
        return "/".join((self._storage.path(), location, *inside))


def _signature() -> bytes:
    """Ends a mark, so that a writer whose answer was lost knows his own; others only check that the mark is there."""
    return f" by {uuid.uuid4().hex}".encode()


def _is_name(name: str) -> bool:
    """Whether a directory's name can be a table's: one that nobody could ask for is not listed."""
    try:
        identifiers.validate((name,))
    except InvalidInputError:
        return False
    return True

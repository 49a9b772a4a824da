"""V2: a catalog in the ``__manifest`` table. In compatibility mode V1 tables of the root show too."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from contextlib import suppress
from itertools import groupby, islice
from typing import TYPE_CHECKING, ClassVar

from lance_namespace import NamespaceAlreadyExistsError, TableAlreadyExistsError, TableNotFoundError

from lancespace import identifiers
from lancespace_dir import changes, root
from lancespace_dir.catalogs import Names, Place, no_namespace, no_table, table_exists
from lancespace_dir.listing import Listing
from lancespace_dir.manifest.committer import Manifest
from lancespace_dir.manifest.schema import NAMESPACE, TABLE

if TYPE_CHECKING:
    from lancespace.storage import Storage


class ManifestCatalog:
    """Namespaces and tables as rows of the manifest."""

    lacks: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, storage: Storage, *, commit_retries: int, with_upkeep: bool, with_v1: bool) -> None:
        self._root = storage.location
        self.with_v1 = with_v1
        self._listing = Listing(storage, beside_manifest=True)
        self.manifest = Manifest(storage, commit_retries=commit_retries, with_upkeep=with_upkeep)

    def create_namespace(self, names: Names, properties: Mapping[str, str], mode: str) -> Mapping[str, str]:
        """Enter a row."""
        if not names:
            raise NamespaceAlreadyExistsError("The root namespace exists always.")
        return self.manifest.mutate(lambda draft: changes.enter_namespace(draft, names, properties, mode))

    def drop_namespace(self, names: Names, *, cascade: bool) -> Mapping[str, str]:
        """Take the row out, and with Cascade all rows below it in the same commit; then delete the tables' data."""
        old, locations = self.manifest.mutate(lambda draft: changes.take_out_namespace(draft, names, cascade=cascade))
        for location in locations:
            self._listing.delete(location)
        return old.properties

    def namespace_properties(self, names: Names) -> Mapping[str, str]:
        """The row's metadata; the root's are in the table's own."""
        with self.manifest.reading() as reader:
            if not names:
                return {key: value for key, value in reader.metadata.items() if not key.startswith("lance.namespace.")}
            entry = reader.get(identifiers.join(names))
        if entry is None or entry.object_type != NAMESPACE:
            raise no_namespace(names)
        return entry.properties

    def namespaces(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """The rows right below."""
        with self.manifest.reading() as reader:
            changes.need_namespace(reader, names)
            return reader.load().children(identifiers.join(names), NAMESPACE, after, count)

    def tables(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """The rows right below; in the root, merged with what the directory shows."""
        with self.manifest.reading() as reader:
            changes.need_namespace(reader, names)
            known = reader.load().children(identifiers.join(names), TABLE, after, count)
        return known if names or not self.with_v1 else self._merged(known, after, count)

    def all_tables(self, after: str | None, count: int | None) -> list[str]:
        """All table rows, merged with what the directory shows."""
        with self.manifest.reading() as reader:
            known = reader.load().all_of(TABLE, after, count)
        return self._merged(known, after, count) if self.with_v1 else known

    def find(self, names: Names) -> Place:
        """The row, or else the V1 table."""
        place, _ = self._find(names)
        return place

    def declare(self, names: Names, location: str | None, properties: Mapping[str, str]) -> Place:
        """Enter a row, and mark the directory as reserved."""
        if self._is_v1(names):
            raise table_exists(names)
        chosen = self._location_for(names) if location is None else root.relative(location, self._root)
        place = Place(chosen, properties)
        self._enter(names, place)
        if location is None:
            self._mark_as_reserved(place.location)
        return place

    def register(self, names: Names, location: str, properties: Mapping[str, str], *, overwrite: bool) -> Place:
        """Enter a row for what is there; the directory of this name shows by itself then, or no longer."""
        place = Place(root.relative(location, self._root), properties)
        is_own = self._is_own(names, place)
        if not overwrite and not is_own and self._is_v1(names):
            raise table_exists(names)
        if not overwrite:
            self._need_free(names)
        was_hidden = is_own and self._listing.is_hidden(place.location)
        if was_hidden:
            self._listing.show(place.location)
        try:
            self._enter(names, place, overwrite=overwrite)
        except BaseException:
            if was_hidden:
                self._listing.hide(place.location)
            raise
        if not is_own and self._is_v1(names):
            self._listing.hide(root.root_location(names[0]))
        return place

    def deregister(self, names: Names) -> Place:
        """Take the row out, then hide the directory from V1 readers.

        A directory that shows the table by itself is the last to go, so that a crash in between leaves the table there.
        """
        place, has_row = self._find(names)
        shows_itself = self._is_own(names, place) and self._listing.exists(names[0])
        if has_row:
            place = self.manifest.mutate(lambda draft: changes.take_out_table(draft, names))
        if self._is_own(names, place) and not self._listing.hide(place.location) and shows_itself:
            raise no_table(names)  # Somebody else was faster.
        return place

    def rename(self, names: Names, target: Names) -> None:
        """Exchange the row for one with the new name, in one commit. The directory stays where it is.

        One that shows the old name by itself is hidden before, and one that shows the new name is shown again after.
        A V1 table gets a row first, so that it is in sight all the time.
        """
        place, has_row = self._find(names)
        if self._is_v1(target):
            raise table_exists(target)
        self._need_free(target)
        if not has_row:
            with suppress(TableAlreadyExistsError):  # Somebody else gave it one.
                self._enter(names, place)
        is_hiding = self._is_own(names, place) and self._listing.hide(place.location)
        try:
            self.manifest.mutate(lambda draft: changes.rename_table(draft, names, target))
        except BaseException:
            if is_hiding and self.manifest.get(identifiers.join(names)) is not None:
                self._listing.show(place.location)
            raise
        if self._is_own(target, place):
            self._listing.show(place.location)

    def drop(self, names: Names) -> Place:
        """Take the row out, then the directory, and then delete it; one that is deregistered can be dropped too."""
        try:
            place, has_row = self._find(names)
        except TableNotFoundError:
            place, has_row = self._deregistered_v1(names), False
        is_own = self._is_own(names, place)
        is_decisive = not has_row or (is_own and self._listing.exists(names[0]))
        is_there = self._listing.is_occupied(place.location)
        if has_row:
            place = self.manifest.mutate(lambda draft: changes.take_out_table(draft, names))
        try:
            if is_there:
                self._listing.delete(self._listing.withdraw(place.location) if is_own else place.location)
        except FileNotFoundError as error:
            if is_decisive:
                raise no_table(names) from error  # Somebody else was faster.
        return place

    def only_v1(self) -> list[str]:
        """The tables that only the directory shows."""
        with self.manifest.reading() as reader:
            known = reader.load().children("", TABLE)
        return list(self._listing.names(beside=known))

    def close(self) -> None:
        """Finish the manifest's upkeep."""
        self.manifest.close()

    def _find(self, names: Names) -> tuple[Place, bool]:
        """The table, and whether it has a row."""
        with self.manifest.reading() as reader:
            entry = reader.get(identifiers.join(names))
            if entry is None:
                changes.need_namespace(reader, names[:-1])
        if entry is not None and entry.object_type == TABLE:
            return Place(entry.location or "", entry.properties), True
        if self._is_v1(names):
            return Place(root.root_location(names[0]), {}), False
        raise no_table(names)

    def _enter(self, names: Names, place: Place, *, overwrite: bool = False) -> None:
        self.manifest.mutate(lambda draft: changes.enter_table(draft, names, place, overwrite=overwrite))

    def _mark_as_reserved(self, location: str) -> None:
        """Show V1 readers that the name is taken; the row counts.

        pylance may have put its mark there, which comes too late for a row. The directory may be gone with a table of
        the same name that is being dropped.
        """
        with suppress(FileExistsError, FileNotFoundError):
            self._listing.reserve(location)

    def _need_free(self, names: Names) -> None:
        """Find out early that a name cannot be entered, before anything is touched; the commit makes certain."""
        with self.manifest.reading() as reader:
            changes.need_namespace(reader, names[:-1])
            if reader.get(identifiers.join(names)) is not None:
                raise table_exists(names)

    def _location_for(self, names: Names) -> str:
        location = root.root_location(names[0])
        if len(names) == 1 and self.with_v1 and not self._listing.is_occupied(location):
            return location
        return root.new_location(identifiers.join(names))

    def _is_v1(self, names: Names) -> bool:
        """Whether the directory shows a table of this name; the manifest's word comes first."""
        return self.with_v1 and len(names) == 1 and self._listing.exists(names[0])

    def _is_own(self, names: Names, place: Place) -> bool:
        """Whether a table is in the directory that shows it by itself."""
        return len(names) == 1 and place.location == root.root_location(names[0])

    def _deregistered_v1(self, names: Names) -> Place:
        location = root.root_location(names[0])
        if len(names) == 1 and self._listing.is_hidden(location):
            return Place(location)
        raise no_table(names)

    def _merged(self, known: list[str], after: str | None, count: int | None) -> list[str]:
        """The manifest's names and those that only the directory shows.

        ``known`` has all names of the manifest up to its last one, so what is not in it before that is V1's alone.
        """
        shown = (name for name in self._listing.names(beside=known) if after is None or name > after)
        return list(islice((name for name, _ in groupby(heapq.merge(known, shown))), count))

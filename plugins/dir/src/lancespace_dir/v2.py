"""V2: a catalog in the ``__manifest`` table. In compatibility mode V1 tables of the root show too."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from lance_namespace import NamespaceAlreadyExistsError, TableAlreadyExistsError, TableNotFoundError

from lancespace import identifiers
from lancespace.views.marks import View, view_of
from lancespace_dir import changes, root, versionrows
from lancespace_dir.catalogs import Names, Place, no_namespace, no_table, table_exists
from lancespace_dir.listing import Listing
from lancespace_dir.managed import ManagedTables
from lancespace_dir.manifest.committer import Manifest
from lancespace_dir.manifest.schema import NAMESPACE, TABLE

if TYPE_CHECKING:
    from lancespace.storage import Storage
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader
    from lancespace_dir.versionrows import Version


class ManifestCatalog:
    """Namespaces and tables as rows of the manifest."""

    lacks: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self, storage: Storage, *, commit_retries: int, with_upkeep: bool, with_v1: bool, managing: bool | None = None
    ) -> None:
        self._root = storage.location
        self.with_v1 = with_v1
        self.listing = Listing(storage, beside_manifest=True)
        self.manifest = Manifest(storage, commit_retries=commit_retries, with_upkeep=with_upkeep)
        self.managed = ManagedTables(self.manifest, storage, managing)

    def create_namespace(self, names: Names, properties: Mapping[str, str], mode: str) -> Mapping[str, str]:
        """Enter a row."""
        if not names:
            raise NamespaceAlreadyExistsError("The root namespace exists always.")
        return self.manifest.mutate(lambda draft: changes.enter_namespace(draft, names, properties, mode))

    def drop_namespace(self, names: Names, *, cascade: bool) -> Mapping[str, str]:
        """Take the row out, and with Cascade all rows below it in the same commit; then delete the tables' data."""
        old, locations = self.manifest.mutate(lambda draft: changes.take_out_namespace(draft, names, cascade=cascade))
        for location in locations:
            self.listing.delete(location)
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
        shown = [] if names else self._shown(after)
        with self.manifest.reading() as reader:
            changes.need_namespace(reader, names)
            known = reader.load().children(identifiers.join(names), TABLE, after, count)
            alone = _without_row(reader, shown)
        return self._merged(known, alone, count)

    def all_tables(self, after: str | None, count: int | None) -> list[str]:
        """All table rows, merged with what the directory shows."""
        shown = self._shown(after)
        with self.manifest.reading() as reader:
            known = reader.load().all_of(TABLE, after, count)
            alone = _without_row(reader, shown)
        return self._merged(known, alone, count)

    def find(self, names: Names) -> Place:
        """The row, or else the V1 table."""
        place, _ = self.find_row(names)
        return place

    def declare(
        self, names: Names, location: str | None, properties: Mapping[str, str], *, with_data: bool = False
    ) -> Place:
        """Enter a row, and mark the directory as reserved; one with data needs a mark where V1 readers see it."""
        if location is None:
            place = self._enter_new(names, properties)
        else:
            with self.manifest.one_look():
                place = self.place_for(names, location, properties)
                self._enter(names, place, versions=self.managed.stored(names, place))
        if with_data and not self.is_own(names, place):
            self.managed.entered(place)
        else:
            self.declared(place, location)
        return place

    def place_for(self, names: Names, location: str | None, properties: Mapping[str, str]) -> Place:
        """Where a table that is to be declared will be."""
        free = self._free_location(names)
        return self.managed.place(free if location is None else root.relative(location, self._root), properties)

    def declared(self, place: Place, location: str | None) -> None:
        """Mark the directory of a table that was entered as reserved, unless the caller chose it."""
        self.managed.entered(place)
        if location is None:
            self._mark_as_reserved(place.location)

    def register(self, names: Names, location: str, properties: Mapping[str, str], *, overwrite: bool) -> Place:
        """Enter a row for what is there; the directory of this name shows by itself then, or no longer."""
        place = self.managed.place(root.relative(location, self._root), properties)
        is_own = self.is_own(names, place)
        if not overwrite and not is_own and self.is_v1(names):
            raise table_exists(names)
        if not overwrite:
            self._need_free(names)
        was_hidden = is_own and self.listing.is_hidden(place.location)
        if was_hidden:
            self.listing.show(place.location)
        try:
            self._enter(names, place, overwrite=overwrite, versions=self.managed.stored(names, place))
        except BaseException:
            if was_hidden:
                self.listing.hide(place.location)
            raise
        self.managed.entered(place)
        if not is_own and self.is_v1(names):
            self.listing.hide(root.root_location(names[0]))
        return place

    def replace_properties(self, names: Names, properties: Mapping[str, str]) -> None:
        """Exchange what the row says; a V1 table gets one. Whether the catalog manages a table stays as it is."""
        place, has_row = self.find_row(names)
        own, _ = versionrows.split(properties)
        if has_row:
            self.manifest.mutate(lambda draft: changes.replace_properties(draft, names, own))
        else:
            self._enter(names, replace(place, properties=own))

    def deregister(self, names: Names) -> Place:
        """Take the row out, then hide the directory from V1 readers.

        A directory that shows the table by itself is the last to go, so that a crash in between leaves the table there.
        """
        place, has_row = self.find_row(names)
        self.managed.settle(names, place)
        shows_itself = self.is_own(names, place) and self.listing.exists(names[0])
        if has_row:
            place = self.manifest.mutate(lambda draft: changes.take_out_table(draft, names))
        else:
            self._need_unused(names)
        if self.is_own(names, place) and not self.listing.hide(place.location) and shows_itself:
            raise no_table(names)  # Somebody else was faster.
        return place

    def rename(self, names: Names, target: Names) -> None:
        """Exchange the row for one with the new name, in one commit. The directory stays where it is.

        One that shows the old name by itself is hidden before, and one that shows the new name is shown again after.
        A V1 table gets a row first, so that it is in sight all the time.
        """
        place, has_row = self.find_row(names)
        if self.is_v1(target):
            raise table_exists(target)
        self._need_free(target)
        if not has_row:
            with suppress(TableAlreadyExistsError):  # Somebody else gave it one.
                self._enter(names, place)
        is_hiding = self.is_own(names, place) and self.listing.hide(place.location)
        try:
            self.manifest.mutate(lambda draft: changes.rename_table(draft, names, target))
        except BaseException:
            if is_hiding and self.manifest.get(identifiers.join(names)) is not None:
                self.listing.show(place.location)
            raise
        if self.is_own(target, place):
            self.listing.show(place.location)

    def drop(self, names: Names) -> Place:
        """Take the row out, then the directory, and then delete it; one that is deregistered can be dropped too."""
        with self.manifest.one_look():
            try:
                place, has_row = self.find_row(names)
            except TableNotFoundError:
                place, has_row = self._deregistered_v1(names), False
            is_own = self.is_own(names, place)
            contents = self.listing.contents(place.location) if is_own else []
            shows_itself = is_own and self.listing.has_directories and self.listing.shows(place.location, contents)
            is_decisive = not has_row or shows_itself
            is_there = bool(contents) or not is_own
            if has_row:
                taken = self.manifest.mutate(lambda draft: changes.take_out_table(draft, names))
                if taken.location != place.location:  # Somebody has dropped and created it meanwhile.
                    place, is_own, is_there, is_decisive = taken, self.is_own(names, taken), True, False
            else:
                self._need_unused(names)
        try:
            if is_there:
                self.listing.delete(self.listing.withdraw(place.location) if is_own else place.location)
        except FileNotFoundError as error:
            if is_decisive:
                raise no_table(names) from error  # Somebody else was faster.
        return place

    def only_v1(self) -> list[str]:
        """The tables that only the directory shows."""
        shown = self.listing.directories()
        with self.manifest.reading() as reader:
            alone = _without_row(reader, shown)
        return list(filter(self.listing.is_table, alone))

    def views(self) -> list[View]:
        """The rows with base objects that say which view they are."""
        with self.manifest.reading() as reader:
            found = [view_of(identifiers.split(entry.object_id), entry.properties) for entry in reader.derived()]
        return [view for view in found if view is not None]

    def close(self) -> None:
        """Finish the manifest's upkeep."""
        self.manifest.close()

    def find_row(self, names: Names) -> tuple[Place, bool]:
        """The table, and whether it has a row."""
        with self.manifest.reading() as reader:
            entry = reader.get(identifiers.join(names))
            if entry is None:
                changes.need_namespace(reader, names[:-1])
        if entry is not None and entry.object_type == TABLE:
            return changes.place_of(entry), True
        if self.is_v1(names):
            return Place(root.root_location(names[0]), {}), False
        raise no_table(names)

    def _free_location(self, names: Names) -> str:
        """Where a new table can be: where V1 readers see it too, if nothing is there."""
        own = root.root_location(names[0])
        is_own = len(names) == 1 and self.with_v1
        contents = self.listing.contents(own) if is_own else []
        if self.listing.shows(own, contents):
            raise table_exists(names)
        return own if is_own and not contents else root.new_location(identifiers.join(names))

    def _enter_new(self, names: Names, properties: Mapping[str, str]) -> Place:
        """Enter a row for a table that has nothing yet; whether the catalog manages it is seen in the same step."""
        location = self._free_location(names)

        def enter(draft: Draft) -> Place:
            place = self.managed.place(location, properties, draft.metadata)
            changes.enter_table(draft, names, place)
            return place

        return self.manifest.mutate(enter)

    def _enter(self, names: Names, place: Place, *, overwrite: bool = False, versions: Iterable[Version] = ()) -> None:
        self.manifest.mutate(
            lambda draft: changes.enter_table(draft, names, place, overwrite=overwrite, versions=versions)
        )

    def _mark_as_reserved(self, location: str) -> None:
        """Show V1 readers that the name is taken; the row counts.

        pylance may have put its mark there, which comes too late for a row. The directory may be gone with a table of
        the same name that is being dropped.
        """
        with suppress(FileExistsError, FileNotFoundError):
            self.listing.reserve(location)

    def _need_unused(self, names: Names) -> None:
        """Refuse to take away a V1 table that views are made from."""
        with self.manifest.reading() as reader:
            changes.need_unused(reader, names, {identifiers.join(names)})

    def _need_free(self, names: Names) -> None:
        """Find out early that a name cannot be entered, before anything is touched; the commit makes certain."""
        with self.manifest.reading() as reader:
            changes.need_namespace(reader, names[:-1])
            if reader.get(identifiers.join(names)) is not None:
                raise table_exists(names)

    def is_v1(self, names: Names) -> bool:
        """Whether the directory shows a table of this name; the manifest's word comes first."""
        return self.with_v1 and len(names) == 1 and self.listing.exists(names[0])

    def is_own(self, names: Names, place: Place) -> bool:
        """Whether a table is in the directory that shows it by itself."""
        return len(names) == 1 and place.location == root.root_location(names[0])

    def _deregistered_v1(self, names: Names) -> Place:
        location = root.root_location(names[0])
        if len(names) == 1 and self.listing.is_hidden(location):
            return Place(location)
        raise no_table(names)

    def _shown(self, after: str | None) -> list[str]:
        """What may be tables of the directory's own, asked before the manifest: one that gets a row is not lost."""
        return self.listing.directories(after) if self.with_v1 else []

    def _merged(self, known: list[str], alone: list[str], count: int | None) -> list[str]:
        """The manifest's names and those that only the directory shows."""
        if not alone:
            return known
        shown = filter(self.listing.is_table, alone)
        return list(islice(heapq.merge(known, shown), count))


def _without_row(reader: ManifestReader, names: list[str]) -> list[str]:
    """Those of the names in the root that are no tables of the manifest."""
    index = reader.load()
    return [name for name in names if not index.has(name, TABLE)]

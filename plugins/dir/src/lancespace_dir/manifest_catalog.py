"""V2: a catalog in the ``__manifest`` table. In compatibility mode V1 tables of the root show too."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from lance_namespace import (
    InvalidInputError,
    InvalidTableStateError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
)

from lancespace.authoring import identifiers, location_taken, namespace_exists, no_namespace, no_table, table_exists
from lancespace_dir import dropping, mutations, root, versionrows
from lancespace_dir.catalogs import CatalogEntry, Names
from lancespace_dir.listing import Listing
from lancespace_dir.managed import ManagedTables
from lancespace_dir.manifest.committer import ManifestTable
from lancespace_dir.manifest.schema import NAMESPACE, TABLE, Entry
from lancespace_tables import View, view_of

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader
    from lancespace_dir.manifest.schema import Entry
    from lancespace_dir.versionrows import Version


_NOT_SHOWN = "choose another name, or connect with dir_listing_enabled=true to see it"


class ManifestCatalog:
    """Namespaces and tables as rows of the manifest."""

    lacks: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self, storage: Storage, *, commit_retries: int, with_upkeep: bool, with_v1: bool, managing: bool | None = None
    ) -> None:
        self._root = storage.location
        self.with_v1 = with_v1
        self.listing = Listing(storage, beside_manifest=True)
        self.manifest = ManifestTable(storage, commit_retries=commit_retries, with_upkeep=with_upkeep)
        self.managed = ManagedTables(self.manifest, storage, managing)

    def create_namespace(self, names: Names, properties: Mapping[str, str], mode: str) -> Mapping[str, str]:
        """Enter a row."""
        if not names:
            raise namespace_exists([])
        if self.shows_v1(names) and self.manifest.get(names[0]) is None:
            raise _name_of_v1(names[0])
        entered = self.manifest.mutate(lambda draft: mutations.enter_namespace(draft, names, properties, mode))
        if entered.is_new and self.shows_v1(names):  # A V1 writer looks for the row after it has made the directory.
            self.manifest.mutate(lambda draft: mutations.take_out_namespace(draft, names, cascade=False))
            raise _name_of_v1(names[0])
        return entered.properties

    def drop_namespace(self, names: Names, *, cascade: bool) -> Mapping[str, str]:
        """Take the row out, and with Cascade all rows below it in the same commit; then delete the tables' data."""
        old, taken = self.manifest.mutate(lambda draft: mutations.take_out_namespace(draft, names, cascade=cascade))
        dropping.delete_files(self, taken)
        return old.readable_properties or {}

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
            mutations.need_namespace(reader, names)
            return reader.load().children(identifiers.join(names), NAMESPACE, after, count)

    def tables(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """The rows right below; in the root, merged with what the directory shows."""
        shown = [] if names else self._shown(after)
        with self.manifest.reading() as reader:
            mutations.need_namespace(reader, names)
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

    def find(self, names: Names) -> CatalogEntry:
        """The row, or else the V1 table."""
        place, _ = self.find_row(names)
        return place

    def declare(
        self, names: Names, location: str | None, properties: Mapping[str, str], *, with_data: bool = False
    ) -> CatalogEntry:
        """Enter a row, and mark the directory as reserved; one with data needs a mark where V1 readers see it."""
        if location is None:
            place = self._enter_new(names, properties)
        else:
            with self.manifest.single_refresh():
                place = self.place_for(names, location, properties)
                self._enter(names, place, versions=self.managed.stored(names, place))
        if with_data and not self.is_own(names, place):
            self.managed.entered(place)
        else:
            self.declared(place, location)
        return place

    def place_for(self, names: Names, location: str | None, properties: Mapping[str, str]) -> CatalogEntry:
        """Where a table that is to be declared will be."""
        free, is_new = self._free_location(names)
        if location is None:
            return self.managed.place(free, properties, is_new=is_new)
        return self._chosen_place(names, location, properties)

    def declared(self, place: CatalogEntry, location: str | None) -> None:
        """Show V1 readers that a name is taken, unless the caller chose the directory; the row counts.

        pylance may have put its mark there, which comes too late for a row. The directory may be gone with a table of
        the same name that is being dropped.
        """
        self.managed.entered(place)
        if location is None:
            with suppress(FileExistsError, FileNotFoundError):
                self.listing.reserve(place.location)

    def register(self, names: Names, location: str, properties: Mapping[str, str], *, overwrite: bool) -> CatalogEntry:
        """Enter a row for what is there; the directory of this name shows by itself then, or no longer."""
        place = self._chosen_place(names, location, properties)
        is_own = self.is_own(names, place)
        if not overwrite:
            self._need_free(names)
            self._need_no_v1(names, place)
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
        if not is_own and self.shows_v1(names):
            self.listing.hide(root.root_location(names[0]))
        return place

    def replace_properties(
        self, names: Names, properties: Mapping[str, str], check: Callable[[CatalogEntry], None]
    ) -> None:
        """Exchange what the row says; a V1 table gets one. Whether the catalog manages a table stays as it is."""
        place, has_row = self.find_row(names)
        own, _ = versionrows.split(properties)

        def put(draft: Draft) -> None:
            check(mutations.place_of(mutations.need_table(draft, names)))
            mutations.replace_properties(draft, names, own)

        if has_row:
            self.manifest.mutate(put)
        else:
            check(place)
            self._enter(names, replace(place, properties=own))

    def check_overwrite(self, names: Names) -> None:
        """Refuse to overwrite a table whose files are also those of another; foreign writers make such tables."""
        own_id = identifiers.join(names)
        place = self.find(names)
        other = next((entry for entry in self.tables_at(place.location) if entry.object_id != own_id), None)
        if other is not None:
            raise InvalidTableStateError(
                f"The table {identifiers.show(names)!r} cannot be overwritten, because the table "
                f"{other.object_id.replace(identifiers.DELIMITER, '.')!r} has files at the same location "
                f"{place.location!r}: drop one of the two, which keeps the files, and then overwrite the other."
            )

    def deregister(self, names: Names) -> CatalogEntry:
        """Take the row out, then hide the directory from V1 readers.

        A directory that shows the table by itself is the last to go, so that a crash in between leaves the table there.
        """
        place, has_row = self.find_row(names)
        self.managed.settle(names, place)
        shows_itself = self.is_own(names, place) and self.listing.exists(names[0])
        if has_row:
            place = self.manifest.mutate(lambda draft: mutations.take_out_table(draft, names))
        else:
            self.need_unused(names)
        if self.is_own(names, place) and not self.listing.hide(place.location) and shows_itself:
            raise no_table(names)  # Somebody else was faster.
        return place

    def rename(self, names: Names, target: Names) -> None:
        """Exchange the row for one with the new name, in one commit. The directory stays where it is.

        One that shows the old name by itself is hidden before, and one that shows the new name is shown again after.
        A V1 table gets a row first, so that it is in sight all the time.
        """
        place, has_row = self.find_row(names)
        if self.shows_v1(target):
            raise self._name_of_v1(target)
        self._need_free(target)
        has_row = has_row or self.enter_v1(names, place) or self._has_table_row(names)
        is_own = self.is_own(names, place)
        is_hiding = has_row and is_own and self.listing.hide(place.location)
        try:
            self.manifest.mutate(lambda draft: mutations.rename_table(draft, names, target, None if has_row else place))
            self._confirm_rename(names, target, place)
        except BaseException:
            if is_hiding and self.manifest.get(identifiers.join(names)) is not None:
                self.listing.show(place.location)
            raise
        if is_own and not has_row:
            self.listing.hide(place.location)
        if self.is_own(target, place):
            self.listing.show(place.location)

    def _confirm_rename(self, names: Names, target: Names, place: CatalogEntry) -> None:
        """See that no V1 writer has made a table of the new name meanwhile; otherwise give the old one back."""
        try:
            self._need_no_v1(target, place)
        except TableAlreadyExistsError:
            self.manifest.mutate(lambda draft: mutations.rename_table(draft, target, names))
            raise

    def enter_v1(self, names: Names, place: CatalogEntry) -> bool:
        """Give a V1 table a row; False if its name has one, which may be that of a namespace."""

        def enter(draft: Draft) -> bool:
            if draft.get(identifiers.join(names)) is not None:
                return False
            mutations.enter_table(draft, names, place)
            return True

        try:
            return self.manifest.mutate(enter)
        except InvalidInputError as error:  # Renamed by another caller.
            raise no_table(names) from error

    def _has_table_row(self, names: Names) -> bool:
        entry = self.manifest.get(identifiers.join(names))
        return entry is not None and entry.object_type == TABLE

    def drop(self, names: Names) -> CatalogEntry:
        """Take the row out and delete the files."""
        return dropping.drop(self, names)

    def v1_tables(self) -> Iterator[tuple[str, Entry | None]]:
        """The tables that only the directory shows, each with what else has its name in the manifest."""
        shown = self.listing.directories()
        with self.manifest.reading() as reader:
            index = reader.load()
            alone = [(name, index.get(name)) for name in shown if not index.is_location(root.root_location(name))]
        return ((name, entry) for name, entry in alone if self.listing.is_table(name))

    def views(self) -> list[View]:
        """The rows with base objects that say which view they are."""
        with self.manifest.reading() as reader:
            entries = list(reader.derived())
        found = []
        for entry in entries:
            with suppress(InvalidTableStateError):  # What cannot be read is an error for its own table only.
                found.append(view_of(identifiers.split(entry.object_id), entry.properties))
        return [view for view in found if view is not None]

    def close(self) -> None:
        """Finish the manifest's upkeep."""
        self.manifest.close()

    def find_row(
        self, names: Names, read: Callable[[Entry], CatalogEntry] = mutations.place_of
    ) -> tuple[CatalogEntry, bool]:
        """The table, and whether it has a row, which ``read`` makes a place of."""
        with self.manifest.reading() as reader:
            entry = reader.get(identifiers.join(names))
            if entry is None:
                mutations.need_namespace(reader, names[:-1], table=names)
        if entry is not None and entry.object_type == TABLE:
            return read(entry), True
        if self.is_v1(names):
            return CatalogEntry(root.root_location(names[0]), {}), False
        raise no_table(names)

    def _chosen_place(self, names: Names, location: str, properties: Mapping[str, str]) -> CatalogEntry:
        """A place that a caller chose; it may not be in the directory of a V1 table with another name."""
        inside = root.relative(location, self._root)
        name = inside.partition("/")[0].removesuffix(root.TABLE_SUFFIX)
        if inside.startswith(root.root_location(name)) and [name] != names and self.is_v1([name]):
            raise location_taken(inside, [name])
        return self.managed.place(inside, properties)

    def _free_location(self, names: Names) -> tuple[str, bool]:
        """Where a new table can be: where V1 readers see it, if that is free. And whether that was made up."""
        own = root.root_location(names[0])
        is_possible = len(names) == 1 and root.can_be_shown(names[0])
        contents = self.listing.contents(own) if is_possible else []
        is_taken = bool(contents) and bool(self.tables_at(own))
        if not is_taken and self.listing.shows(own, contents):
            raise self._name_of_v1(names)
        is_free = is_possible and self.with_v1 and not contents
        return (own, False) if is_free else (root.new_location(identifiers.join(names)), True)

    def _enter_new(self, names: Names, properties: Mapping[str, str]) -> CatalogEntry:
        """Enter a row for a table that has nothing yet; whether the catalog manages it is seen in the same step."""
        location, is_new = self._free_location(names)
        spare = root.new_location(identifiers.join(names))

        def enter(draft: Draft) -> CatalogEntry:
            is_taken = not is_new and next(draft.tables_at(location), None) is not None
            at = spare if is_taken else location
            place = self.managed.place(at, properties, draft.metadata, is_new=is_new or is_taken)
            mutations.enter_table(draft, names, place)
            return place

        place = self.manifest.mutate(enter)
        with self._entered(names, place):
            self._need_no_v1(names, place)  # A V1 writer looks for the row after it has made the directory.
        return place

    def _enter(
        self, names: Names, place: CatalogEntry, *, overwrite: bool = False, versions: Iterable[Version] = ()
    ) -> None:
        """Enter a row at a location that has files, unless somebody deletes these."""
        replaced: list[Entry] = []

        def enter(draft: Draft) -> None:
            replaced[:] = mutations.rows_of(draft, names)
            mutations.enter_table(draft, names, place, overwrite=overwrite, versions=versions)

        has_files = self.has_files(place)
        self.manifest.mutate(enter)
        with self._entered(names, place, replaced):
            self._need_files(place, has_files=has_files)
            if not overwrite:
                self._need_no_v1(names, place)

    def has_files(self, place: CatalogEntry) -> bool:
        """Whether there are files at a location.

        Raises:
            InvalidTableStateError: If a drop or fsck deletes them.
        """
        contents = self.listing.contents(place.location)
        if any(map(root.is_claim, contents)):
            raise InvalidTableStateError(
                f"The files at {place.location!r} are being deleted by a drop or by 'lancespace fsck': choose another "
                f"location. If that was interrupted, delete '{place.location}/{root.CLAIM}*' to keep the files, or run "
                "'lancespace fsck --repair --delete-orphans'."
            )
        return bool(contents)

    def confirm(self, names: Names, place: CatalogEntry, *, has_files: bool) -> None:
        """See that a table that was just entered has its files still, and its name alone; otherwise undo the entry.

        Raises:
            InvalidTableStateError: If a drop or fsck deletes the files, or has.
            TableAlreadyExistsError: If a V1 writer has made a table of this name.
        """
        with self._entered(names, place):
            self._need_files(place, has_files=has_files)
            self._need_no_v1(names, place)

    @contextmanager
    def _entered(self, names: Names, place: CatalogEntry, replaced: Iterable[Entry] = ()) -> Iterator[None]:
        """Take a table out that was just entered if what follows is refused; what it replaced comes back."""
        try:
            yield
        except (InvalidTableStateError, TableAlreadyExistsError):
            self.manifest.mutate(lambda draft: mutations.put_back(draft, names, place, replaced))
            raise

    def _need_files(self, place: CatalogEntry, *, has_files: bool) -> None:
        if not self.has_files(place) and has_files:
            raise InvalidTableStateError(
                f"The files at {place.location!r} were deleted while the table was entered: nothing was changed."
            )

    def need_unused(self, names: Names) -> None:
        """Refuse to take away a V1 table that views are made from."""
        with self.manifest.reading() as reader:
            mutations.need_unused(reader, names, {identifiers.join(names)})

    def _need_free(self, names: Names) -> None:
        """Find out early that a name cannot be entered, before anything is touched; the commit makes certain."""
        with self.manifest.reading() as reader:
            mutations.need_namespace(reader, names[:-1])
            if reader.get(identifiers.join(names)) is not None:
                raise table_exists(names)

    def is_v1(self, names: Names) -> bool:
        """Whether the directory shows a table of this name; one with a row is the table of that row."""
        return self.with_v1 and self.shows_v1(names)

    def _need_no_v1(self, names: Names, place: CatalogEntry) -> None:
        """Refuse the name of a V1 table that is elsewhere: it would be hidden."""
        if not self.is_own(names, place) and self.shows_v1(names):
            raise self._name_of_v1(names)

    def _name_of_v1(self, names: Names) -> TableAlreadyExistsError:
        if self.with_v1:
            return table_exists(names)
        return table_exists(names, f"it is the V1 table at {root.root_location(names[0])!r}: {_NOT_SHOWN}")

    def shows_v1(self, names: Names) -> bool:
        """The same, also for a connection that does not show such tables; V1 readers and others do."""
        if len(names) > 1 or not root.can_be_shown(names[0]) or not self.listing.exists(names[0]):
            return False
        location = root.root_location(names[0])
        return all(entry.object_id == names[0] or entry.location != location for entry in self.tables_at(location))

    def is_own(self, names: Names, place: CatalogEntry) -> bool:
        """Whether a table is in the directory that shows it by itself."""
        return len(names) == 1 and place.location == root.root_location(names[0])

    def deregistered_v1(self, names: Names) -> CatalogEntry:
        """A directory that is hidden and that no row has; or TableNotFoundError."""
        location = root.root_location(names[0])
        if len(names) == 1 and self.listing.is_hidden(location) and not self.tables_at(location):
            return CatalogEntry(location)
        raise no_table(names)

    def tables_at(self, location: str) -> list[Entry]:
        """The rows of tables whose location is the given one, contains it, or lies inside it."""
        return [entry for _, entry in self.tables_at_any([location])]

    def tables_at_any(self, locations: Iterable[str]) -> list[tuple[str, Entry]]:
        """The same for several locations, each with the rows."""
        with self.manifest.reading() as reader:
            return reader.tables_at(*locations)

    def _shown(self, after: str | None) -> list[str]:
        """What may be tables of the directory's own, asked before the manifest: one that gets a row is not lost."""
        return self.listing.directories(after) if self.with_v1 else []

    def _merged(self, known: list[str], alone: list[str], count: int | None) -> list[str]:
        """The manifest's names and those that only the directory shows."""
        if not alone:
            return known
        shown = filter(self.listing.is_table, alone)
        return list(islice(heapq.merge(known, shown), count))


def _name_of_v1(name: str) -> NamespaceAlreadyExistsError:
    location = root.root_location(name)
    return NamespaceAlreadyExistsError(
        f"The name {name!r} is that of the V1 table at {location!r}: choose another, or rename the table."
    )


def _without_row(reader: ManifestReader, names: list[str]) -> list[str]:
    """Those of the names in the root that are no tables of the manifest, and whose directory is that of none."""
    index = reader.load()
    alone = (name for name in names if not index.has(name, TABLE))
    return [name for name in alone if not index.is_location(root.root_location(name))]

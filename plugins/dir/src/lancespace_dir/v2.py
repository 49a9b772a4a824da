"""V2: a catalog in the ``__manifest`` table. In compatibility mode V1 tables of the root show too."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

from lance_namespace import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    TableNotFoundError,
)

from lancespace import identifiers
from lancespace_dir import root
from lancespace_dir.catalogs import Names, Place, no_namespace, no_table, table_exists
from lancespace_dir.listing import Listing
from lancespace_dir.manifest.committer import Manifest
from lancespace_dir.manifest.schema import NAMESPACE, TABLE, TABLE_VERSION, Entry, metadata_of

if TYPE_CHECKING:
    from lancespace.storage import Storage
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader


class ManifestCatalog:
    """Namespaces and tables as rows of the manifest."""

    def __init__(self, storage: Storage, *, commit_retries: int, with_upkeep: bool, with_v1: bool) -> None:
        self._root = storage.location
        self.with_v1 = with_v1
        self._listing = Listing(storage)
        self.manifest = Manifest(storage, commit_retries=commit_retries, with_upkeep=with_upkeep)

    def create_namespace(self, names: Names, properties: Mapping[str, str], mode: str) -> Mapping[str, str]:
        """Enter a row."""
        if not names:
            raise NamespaceAlreadyExistsError("The root namespace exists always.")
        object_id = identifiers.join(names)

        def enter(draft: Draft) -> Mapping[str, str]:
            _need_namespace(draft, names[:-1])
            old = draft.get(object_id)
            if old is not None and (mode == "Create" or old.object_type != NAMESPACE):
                raise NamespaceAlreadyExistsError(f"The name {object_id!r} is taken by a {old.object_type}.")
            if old is not None and mode == "ExistOk":
                return old.properties
            if old is not None:
                _need_empty(draft, object_id)
            draft.put(Entry(object_id, NAMESPACE, metadata=metadata_of(properties)))
            return properties

        return self.manifest.mutate(enter)

    def drop_namespace(self, names: Names, *, cascade: bool) -> Mapping[str, str]:
        """Take the row out, and with Cascade all rows below it in the same commit; then delete the tables' data."""
        object_id = identifiers.join(names)

        def take_out(draft: Draft) -> tuple[Entry, list[str]]:
            old = draft.get(object_id)
            if old is None or old.object_type != NAMESPACE:
                raise no_namespace(names)
            if not cascade:
                _need_empty(draft, object_id)
            below = list(draft.descendants(object_id, NAMESPACE, TABLE, TABLE_VERSION))
            for entry in (*below, old):
                draft.remove(entry.object_id)
            return old, [entry.location for entry in below if entry.object_type == TABLE and entry.location]

        old, locations = self.manifest.mutate(take_out)
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
            _need_namespace(reader, names)
            return reader.load().children(identifiers.join(names), NAMESPACE, after, count)

    def tables(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """The rows right below; in the root, merged with what the directory shows."""
        with self.manifest.reading() as reader:
            _need_namespace(reader, names)
            known = reader.load().children(identifiers.join(names), TABLE, after, count)
        return known if names or not self.with_v1 else self._merged(known, after, count)

    def all_tables(self, after: str | None, count: int | None) -> list[str]:
        """All table rows, merged with what the directory shows."""
        with self.manifest.reading() as reader:
            known = reader.load().all_of(TABLE, after, count)
        return self._merged(known, after, count) if self.with_v1 else known

    def find(self, names: Names) -> Place:
        """The row, or else the V1 table."""
        object_id = identifiers.join(names)
        with self.manifest.reading() as reader:
            entry = reader.get(object_id)
            if entry is None:
                _need_namespace(reader, names[:-1])
        if entry is not None and entry.object_type == TABLE:
            return Place(entry.location or "", entry.properties)
        if self._is_v1(names):
            return Place(root.root_location(names[0]), {})
        raise no_table(names)

    def declare(self, names: Names, location: str | None, properties: Mapping[str, str]) -> Place:
        """Enter a row, then mark the directory as reserved."""
        if self._is_v1(names):
            raise table_exists(names)
        place = Place(
            self._location_for(names) if location is None else root.relative(location, self._root), properties
        )
        self._enter(names, place, overwrite=False)
        if location is None:
            self._listing.reserve(place.location)
        return place

    def register(self, names: Names, location: str, properties: Mapping[str, str], *, overwrite: bool) -> Place:
        """Enter a row for what is there."""
        place = Place(root.relative(location, self._root), properties)
        own = place.location == root.root_location(names[-1]) and len(names) == 1
        if not overwrite and not own and self._is_v1(names):
            raise table_exists(names)
        self._enter(names, place, overwrite=overwrite)
        if own:
            self._listing.show(place.location)
        return place

    def deregister(self, names: Names) -> Place:
        """Take the row out; a directory that V1 readers would show is marked first."""
        return self._take_out(names)

    def rename(self, names: Names, target: Names) -> None:
        """Exchange the row for one with the new name, in one commit.

        A V1 table is entered in the manifest first. Its directory stays where it is, and is marked so that it does
        not show under its old name as well.
        """
        self._adopt(names)
        if self._is_v1(target):
            raise table_exists(target)
        old_id, new_id = identifiers.join(names), identifiers.join(target)
        shown = self._shown_by_v1(names, self.find(names))
        if shown:
            self._listing.hide(root.root_location(names[0]))

        def exchange(draft: Draft) -> None:
            old = _need_table(draft, names)
            _need_namespace(draft, target[:-1])
            if draft.get(new_id) is not None:
                raise table_exists(target)
            for version in list(draft.children(old_id, TABLE_VERSION)):
                draft.remove(version.object_id)
                draft.put(replace(version, object_id=new_id + version.object_id[len(old_id) :]))
            draft.remove(old_id)
            draft.put(replace(old, object_id=new_id))

        try:
            self.manifest.mutate(exchange)
        except BaseException:
            if shown and self.manifest.get(old_id) is not None:
                self._listing.show(root.root_location(names[0]))
            raise

    def drop(self, names: Names) -> Place:
        """Take the row out, then delete the data; a directory that V1 readers would show is marked first."""
        try:
            place = self._take_out(names)
        except TableNotFoundError:
            place = self._deregistered_v1(names)
        self._listing.delete(place.location)
        return place

    def only_v1(self) -> list[str]:
        """The tables that only the directory shows."""
        with self.manifest.reading() as reader:
            known = reader.load().children("", TABLE)
        return list(self._listing.names(beside=known))

    def close(self) -> None:
        """Finish the manifest's upkeep."""
        self.manifest.close()

    def _enter(self, names: Names, place: Place, *, overwrite: bool) -> None:
        object_id = identifiers.join(names)

        def enter(draft: Draft) -> None:
            _need_namespace(draft, names[:-1])
            old = draft.get(object_id)
            if old is not None and (not overwrite or old.object_type != TABLE):
                raise table_exists(names)
            draft.put(Entry(object_id, TABLE, place.location, metadata_of(place.properties)))

        self.manifest.mutate(enter)

    def _take_out(self, names: Names) -> Place:
        object_id = identifiers.join(names)
        place = self.find(names)
        if self._shown_by_v1(names, place):
            self._listing.hide(place.location)
        if self.manifest.get(object_id) is None:
            return place

        def take_out(draft: Draft) -> Place:
            old = _need_table(draft, names)
            for version in list(draft.children(object_id, TABLE_VERSION)):
                draft.remove(version.object_id)
            draft.remove(object_id)
            return Place(old.location or "", old.properties)

        return self.manifest.mutate(take_out)

    def _adopt(self, names: Names) -> None:
        """Enter a V1 table in the manifest under its own name."""
        place = self.find(names)
        if self.manifest.get(identifiers.join(names)) is None:
            self._enter(names, place, overwrite=True)

    def _location_for(self, names: Names) -> str:
        location = root.root_location(names[0])
        if len(names) == 1 and self.with_v1 and not self._listing.is_occupied(location):
            return location
        return root.new_location(identifiers.join(names))

    def _is_v1(self, names: Names) -> bool:
        """Whether the directory shows a table of this name; the manifest's word comes first."""
        return self.with_v1 and len(names) == 1 and self._listing.exists(names[0])

    def _shown_by_v1(self, names: Names, place: Place) -> bool:
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


def _need_namespace(view: Draft | ManifestReader, names: Names) -> None:
    if names:
        entry = view.get(identifiers.join(names))
        if entry is None or entry.object_type != NAMESPACE:
            raise no_namespace(names)


def _need_table(draft: Draft, names: Names) -> Entry:
    entry = draft.get(identifiers.join(names))
    if entry is None or entry.object_type != TABLE:
        raise no_table(names)
    return entry


def _need_empty(draft: Draft, object_id: str) -> None:
    child = next(draft.children(object_id, TABLE, NAMESPACE), None)
    if child is not None:
        raise NamespaceNotEmptyError(
            f"The namespace {object_id!r} is not empty, it holds {child.object_id!r}: drop what is in it, "
            "or use the behavior 'Cascade'."
        )

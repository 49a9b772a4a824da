"""What the operations change in the manifest. A function here only touches its draft: it may run more than once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lancespace.authoring import (
    identifiers,
    location_taken,
    namespace_exists,
    namespace_not_empty,
    no_namespace,
    no_table,
    table_exists,
)
from lancespace_dir import versionrows
from lancespace_dir.catalogs import CatalogEntry, Names
from lancespace_dir.manifest.schema import NAMESPACE, TABLE, TABLE_VERSION, Entry, metadata_of
from lancespace_dir.versionrows import MANAGEMENT, Version
from lancespace_tables import SourceInUseError, base_objects

if TYPE_CHECKING:
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader


@dataclass(frozen=True)
class EnteredNamespace:
    """What creating a namespace came to."""

    properties: Mapping[str, str]
    is_new: bool


def enter_namespace(draft: Draft, names: Names, properties: Mapping[str, str], mode: str) -> EnteredNamespace:
    """Enter a namespace."""
    object_id = identifiers.join(names)
    need_namespace(draft, names[:-1])
    old = draft.get(object_id)
    if old is not None and (mode == "Create" or old.object_type != NAMESPACE):
        raise namespace_exists(names, old.object_type)
    if old is not None and mode == "ExistOk":
        return EnteredNamespace(old.properties, is_new=False)
    if old is not None:
        _need_empty(draft, object_id)
    draft.put(Entry(object_id, NAMESPACE, metadata=metadata_of(properties)))
    return EnteredNamespace(properties, is_new=old is None)


@dataclass
class Taken:
    """Tables whose rows were taken out, and those that stay and have files at the same locations."""

    places: list[CatalogEntry]
    sharers: dict[str, str]
    """The identifier of another table by location; only foreign writers make two rows for one location."""


def take_out_namespace(draft: Draft, names: Names, *, cascade: bool) -> tuple[Entry, Taken]:
    """Take a namespace out, or all below it as well: what it was, and the tables that go with it."""
    object_id = identifiers.join(names)
    old = draft.get(object_id)
    if old is None or old.object_type != NAMESPACE:
        raise no_namespace(names)
    if not cascade:
        _need_empty(draft, object_id)
    below = list(draft.descendants(object_id))
    need_unused(draft, names, {entry.object_id for entry in below})
    for entry in (*below, old):
        draft.remove(entry.object_id)
    return old, _taken(draft, [CatalogEntry(entry.location or "") for entry in below if entry.object_type == TABLE])


def enter_table(
    draft: Draft, names: Names, place: CatalogEntry, *, overwrite: bool = False, versions: Iterable[Version] = ()
) -> None:
    """Enter a table, with the versions that it has if it is managed."""
    object_id = identifiers.join(names)
    need_namespace(draft, names[:-1])
    old = draft.get(object_id)
    if old is not None and (not overwrite or old.object_type != TABLE):
        raise table_exists(names)
    if old is not None:
        versionrows.remove_all(draft, object_id)
    if not place.is_new:
        need_location(draft, names, place.location)
    mark = {MANAGEMENT: "true"} if place.is_managed else {}
    bases = base_objects(place.properties)
    _need_bases(draft, bases or ())
    draft.put(Entry(object_id, TABLE, place.location, metadata_of({**(place.properties or {}), **mark}), bases))
    versionrows.enter(draft, object_id, versions)


def rows_of(draft: Draft, names: Names) -> list[Entry]:
    """The row of a table and those of its versions, if there is one."""
    object_id = identifiers.join(names)
    entry = draft.get(object_id)
    return [] if entry is None else [entry, *draft.children(object_id, TABLE_VERSION)]


def put_back(draft: Draft, names: Names, place: CatalogEntry, rows: Iterable[Entry]) -> None:
    """Undo that a table was entered at a place, unless its row is another one by now.

    What it replaced comes back, unless another table is there by now.
    """
    object_id = identifiers.join(names)
    entry = draft.get(object_id)
    if entry is None or entry.location != place.location:
        return
    versionrows.remove_all(draft, object_id)
    draft.remove(object_id)
    for row in rows if all(is_free(draft, row) for row in rows) else ():
        draft.put(row)


def is_free(draft: Draft, entry: Entry) -> bool:
    """Whether no table is at the location of a row that is to come back."""
    return entry.object_type != TABLE or next(draft.tables_at(entry.location or ""), None) is None


def replace_properties(draft: Draft, names: Names, properties: Mapping[str, str]) -> None:
    """Give a table other properties."""
    old = need_table(draft, names)
    mark = {MANAGEMENT: "true"} if place_of(old).is_managed else {}
    draft.put(replace(old, metadata=metadata_of({**properties, **mark})))


def take_out_table(draft: Draft, names: Names) -> CatalogEntry:
    """Take a table out, and say where it was."""
    old = need_table(draft, names)
    need_unused(draft, names, {old.object_id})
    versionrows.remove_all(draft, old.object_id)
    draft.remove(old.object_id)
    return place_to_drop(old)


def take_out_with_files(draft: Draft, names: Names) -> Taken:
    """Take a table out whose files are to be deleted, unless another table has them, too."""
    return _taken(draft, [take_out_table(draft, names)])


def rename_table(draft: Draft, names: Names, target: Names, v1: CatalogEntry | None = None) -> None:
    """Exchange a table for one with another name; one that is only a directory so far (V1) gets that name."""
    old_id, new_id = identifiers.join(names), identifiers.join(target)
    old = draft.get(old_id)
    need_unused(draft, names, {old_id})
    if v1 is not None and (old is None or old.object_type != TABLE):
        if next(draft.tables_at(v1.location), None) is not None:
            raise no_table(names)  # Renamed by somebody else.
        enter_table(draft, target, v1)
        return
    old = need_table(draft, names)
    need_namespace(draft, target[:-1])
    if draft.get(new_id) is not None:
        raise table_exists(target)
    for version in list(draft.children(old_id, TABLE_VERSION)):
        draft.rename(version, new_id + version.object_id[len(old_id) :])
    draft.rename(old, new_id)


def need_namespace(view: Draft | ManifestReader, names: Names, table: Sequence[str] = ()) -> None:
    """Raise NamespaceNotFoundError unless there is such a namespace."""
    if names:
        entry = view.get(identifiers.join(names))
        if entry is None or entry.object_type != NAMESPACE:
            raise no_namespace(names, table)


def need_unused(view: Draft | ManifestReader, names: Names, gone: set[str]) -> None:
    """Raise InvalidTableStateError if views that stay are made from tables that are to go."""
    used_by = [entry.object_id for entry in view.derived() if gone.intersection(entry.base_objects or ())]
    users = [identifiers.split(object_id) for object_id in used_by if object_id not in gone]
    if users:
        raise SourceInUseError(names, users)


def need_location(draft: Draft, names: Names, location: str) -> None:
    """Raise InvalidInputError if the location is that of another table, contains it, or lies inside it."""
    own_id = identifiers.join(names)
    other = next((entry for _, entry in draft.tables_at(location) if entry.object_id != own_id), None)
    if other is not None:
        raise location_taken(location, other.object_id.split(identifiers.DELIMITER))


def need_table(view: Draft | ManifestReader, names: Names) -> Entry:
    """The row of a table, or TableNotFoundError."""
    entry = view.get(identifiers.join(names))
    if entry is None or entry.object_type != TABLE:
        raise no_table(names)
    return entry


def place_of(entry: Entry) -> CatalogEntry:
    """What a table's row says."""
    properties = entry.properties
    is_managed = properties.pop(MANAGEMENT, "") == "true"
    return CatalogEntry(entry.location or "", properties, is_managed)


def place_to_drop(entry: Entry) -> CatalogEntry:
    """What a table's row says, as far as it can be read: damaged metadata does not keep a table from being dropped."""
    return CatalogEntry(entry.location or "") if entry.readable_properties is None else place_of(entry)


def _need_bases(draft: Draft, bases: Iterable[str]) -> None:
    """Raise TableNotFoundError if what a view is made from is gone; a table of the root may be a V1 one."""
    for object_id in bases:
        names = identifiers.split(object_id)
        if len(names) > 1:
            need_table(draft, names)


def _taken(draft: Draft, places: list[CatalogEntry]) -> Taken:
    shared = draft.tables_at(*(place.location for place in places if place.location))
    return Taken(places, {location: entry.object_id for location, entry in shared})


def _need_empty(draft: Draft, object_id: str) -> None:
    child = next(draft.children(object_id, TABLE, NAMESPACE), None)
    if child is not None:
        raise namespace_not_empty(identifiers.split(object_id), identifiers.split(child.object_id))

"""What the operations change in the manifest. A function here only touches its draft: it may run more than once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lance_namespace import NamespaceAlreadyExistsError, NamespaceNotEmptyError

from lancespace import identifiers
from lancespace.views.marks import base_objects, in_use
from lancespace_dir import versionrows
from lancespace_dir.catalogs import Names, Place, no_namespace, no_table, table_exists
from lancespace_dir.manifest.schema import NAMESPACE, TABLE, TABLE_VERSION, Entry, metadata_of
from lancespace_dir.versionrows import MANAGEMENT, Version

if TYPE_CHECKING:
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader


def enter_namespace(draft: Draft, names: Names, properties: Mapping[str, str], mode: str) -> Mapping[str, str]:
    """Enter a namespace, and answer its properties."""
    object_id = identifiers.join(names)
    need_namespace(draft, names[:-1])
    old = draft.get(object_id)
    if old is not None and (mode == "Create" or old.object_type != NAMESPACE):
        raise NamespaceAlreadyExistsError(f"The name {object_id!r} is taken by a {old.object_type}.")
    if old is not None and mode == "ExistOk":
        return old.properties
    if old is not None:
        _need_empty(draft, object_id)
    draft.put(Entry(object_id, NAMESPACE, metadata=metadata_of(properties)))
    return properties


def take_out_namespace(draft: Draft, names: Names, *, cascade: bool) -> tuple[Entry, list[str]]:
    """Take a namespace out, or all below it as well: what it was, and where the tables are that go with it."""
    object_id = identifiers.join(names)
    old = draft.get(object_id)
    if old is None or old.object_type != NAMESPACE:
        raise no_namespace(names)
    if not cascade:
        _need_empty(draft, object_id)
    below = list(draft.descendants(object_id, NAMESPACE, TABLE, TABLE_VERSION))
    need_unused(draft, names, {entry.object_id for entry in below})
    for entry in (*below, old):
        draft.remove(entry.object_id)
    return old, [entry.location for entry in below if entry.object_type == TABLE and entry.location]


def enter_table(
    draft: Draft, names: Names, place: Place, *, overwrite: bool = False, versions: Iterable[Version] = ()
) -> None:
    """Enter a table, with the versions that it has if it is managed."""
    object_id = identifiers.join(names)
    need_namespace(draft, names[:-1])
    old = draft.get(object_id)
    if old is not None and (not overwrite or old.object_type != TABLE):
        raise table_exists(names)
    if old is not None:
        versionrows.remove_all(draft, object_id)
    mark = {MANAGEMENT: "true"} if place.is_managed else {}
    bases = base_objects(place.properties)
    _need_bases(draft, bases or ())
    draft.put(Entry(object_id, TABLE, place.location, metadata_of({**(place.properties or {}), **mark}), bases))
    versionrows.enter(draft, object_id, versions)


def replace_properties(draft: Draft, names: Names, properties: Mapping[str, str]) -> None:
    """Give a table other properties."""
    old = need_table(draft, names)
    mark = {MANAGEMENT: "true"} if place_of(old).is_managed else {}
    draft.put(replace(old, metadata=metadata_of({**properties, **mark})))


def take_out_table(draft: Draft, names: Names) -> Place:
    """Take a table out, and say where it was."""
    old = need_table(draft, names)
    need_unused(draft, names, {old.object_id})
    versionrows.remove_all(draft, old.object_id)
    draft.remove(old.object_id)
    return place_of(old)


def rename_table(draft: Draft, names: Names, target: Names) -> None:
    """Exchange a table for one with another name."""
    old_id, new_id = identifiers.join(names), identifiers.join(target)
    old = need_table(draft, names)
    need_unused(draft, names, {old_id})
    need_namespace(draft, target[:-1])
    if draft.get(new_id) is not None:
        raise table_exists(target)
    for version in list(draft.children(old_id, TABLE_VERSION)):
        draft.rename(version, new_id + version.object_id[len(old_id) :])
    draft.rename(old, new_id)


def need_namespace(view: Draft | ManifestReader, names: Names) -> None:
    """Raise NamespaceNotFoundError unless there is such a namespace."""
    if names:
        entry = view.get(identifiers.join(names))
        if entry is None or entry.object_type != NAMESPACE:
            raise no_namespace(names)


def need_unused(view: Draft | ManifestReader, names: Names, gone: set[str]) -> None:
    """Raise InvalidTableStateError if views that stay are made from tables that are to go."""
    used_by = [entry.object_id for entry in view.derived() if gone.intersection(entry.base_objects or ())]
    users = [identifiers.split(object_id) for object_id in used_by if object_id not in gone]
    if users:
        raise in_use(names, users)


def need_table(view: Draft | ManifestReader, names: Names) -> Entry:
    """The row of a table, or TableNotFoundError."""
    entry = view.get(identifiers.join(names))
    if entry is None or entry.object_type != TABLE:
        raise no_table(names)
    return entry


def place_of(entry: Entry) -> Place:
    """What a table's row says."""
    properties = entry.properties
    is_managed = properties.pop(MANAGEMENT, "") == "true"
    return Place(entry.location or "", properties, is_managed)


def _need_bases(draft: Draft, bases: Iterable[str]) -> None:
    """Raise TableNotFoundError if what a view is made from is gone; a table of the root may be a V1 one."""
    for object_id in bases:
        names = identifiers.split(object_id)
        if len(names) > 1:
            need_table(draft, names)


def _need_empty(draft: Draft, object_id: str) -> None:
    child = next(draft.children(object_id, TABLE, NAMESPACE), None)
    if child is not None:
        raise NamespaceNotEmptyError(
            f"The namespace {object_id!r} is not empty, it holds {child.object_id!r}: drop what is in it, "
            "or use the behavior 'Cascade'."
        )

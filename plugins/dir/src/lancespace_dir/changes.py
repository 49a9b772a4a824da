"""What the operations change in the manifest. A function here only touches its draft: it may run more than once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_namespace import NamespaceAlreadyExistsError, NamespaceNotEmptyError

from lancespace import identifiers
from lancespace_dir.catalogs import Names, Place, no_namespace, no_table, table_exists
from lancespace_dir.manifest.schema import NAMESPACE, TABLE, TABLE_VERSION, Entry, metadata_of

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
    for entry in (*below, old):
        draft.remove(entry.object_id)
    return old, [entry.location for entry in below if entry.object_type == TABLE and entry.location]


def enter_table(draft: Draft, names: Names, place: Place, *, overwrite: bool) -> None:
    """Enter a table."""
    object_id = identifiers.join(names)
    need_namespace(draft, names[:-1])
    old = draft.get(object_id)
    if old is not None and (not overwrite or old.object_type != TABLE):
        raise table_exists(names)
    draft.put(Entry(object_id, TABLE, place.location, metadata_of(place.properties)))


def take_out_table(draft: Draft, names: Names) -> Place:
    """Take a table out, and say where it was."""
    old = _need_table(draft, names)
    for version in list(draft.children(old.object_id, TABLE_VERSION)):
        draft.remove(version.object_id)
    draft.remove(old.object_id)
    return Place(old.location or "", old.properties)


def rename_table(draft: Draft, names: Names, target: Names) -> None:
    """Exchange a table for one with another name."""
    old_id, new_id = identifiers.join(names), identifiers.join(target)
    old = _need_table(draft, names)
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

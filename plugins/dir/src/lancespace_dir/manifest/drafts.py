"""Changes that mutations want, before they are committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lancespace.authoring import DELIMITER, relative_steps
from lancespace_dir.manifest.schema import Entry, parent_of

if TYPE_CHECKING:
    from lancespace_dir.manifest.reader import ManifestReader

Result = TypeVar("Result")


class Draft:
    """The manifest as it would be after the changes made so far.

    Mutations of one batch run one after the other on the same draft, so each sees what those before it did. One that
    raises leaves nothing behind.
    """

    def __init__(self, reader: ManifestReader) -> None:
        self._reader = reader
        self.changes: dict[str, Entry | None] = {}
        """The entry that each changed identifier is to have, or None if it is to be gone."""
        self.origins: dict[str, str] = {}
        """The identifiers that renamed entries have in the table."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the table; no mutation changes it."""
        return self._reader.metadata

    def attempt(self, mutation: Callable[[Draft], Result]) -> Result:
        """Run a mutation; if it raises, its changes are undone and the others stay."""
        before = dict(self.changes), dict(self.origins)
        try:
            return mutation(self)
        except BaseException:
            self.changes, self.origins = before
            raise

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        return self.changes[object_id] if object_id in self.changes else self._reader.get(object_id)

    def tables_at(self, *locations: str) -> Iterator[tuple[str, Entry]]:
        """Each location with the tables whose location is the same, contains it, or lies inside it."""
        known = self._reader.tables_at(*locations)
        yield from ((location, entry) for location, entry in known if entry.object_id not in self.changes)
        changed = [entry for entry in self.changes.values() if entry is not None]
        for location in locations if changed else ():
            steps = relative_steps(location)
            yield from ((location, entry) for entry in changed if entry.is_at(steps))

    def put(self, entry: Entry) -> None:
        """Enter or replace an entry."""
        self.changes[entry.object_id] = entry

    def rename(self, entry: Entry, object_id: str) -> None:
        """Give an entry another identifier; what the table has of it beside is kept."""
        origin = self.origins.get(entry.object_id, entry.object_id)
        self.remove(entry.object_id)
        self.put(replace(entry, object_id=object_id))
        self.origins[object_id] = origin

    def remove(self, object_id: str) -> None:
        """Take an entry out."""
        self.changes[object_id] = None
        self.origins.pop(object_id, None)

    def children(self, parent: str, *object_types: str) -> Iterator[Entry]:
        """The entries right below ``parent``."""
        index = self._reader.load()
        for object_type in object_types:
            for name in index.children(parent, object_type):
                object_id = f"{parent}${name}" if parent else name
                entry = self.get(object_id)
                if entry is not None and entry.object_type == object_type:
                    yield entry
        for object_id, entry in list(self.changes.items()):
            is_new = entry is not None and index.place(object_id) is None
            if is_new and entry is not None and entry.object_type in object_types and parent_of(object_id) == parent:
                yield entry

    def child_names(self, parent: str, object_type: str) -> set[str]:
        """The names right below ``parent``; no entry is read, since there may be many."""
        names = set(self._reader.load().children(parent, object_type))
        for object_id, entry in self.changes.items():
            if parent_of(object_id) == parent:
                is_one = entry is not None and entry.object_type == object_type
                (names.add if is_one else names.discard)(object_id.rpartition(DELIMITER)[2])
        return names

    def derived(self) -> Iterator[Entry]:
        """The entries with base objects."""
        yield from (entry for entry in self._reader.derived() if entry.object_id not in self.changes)
        yield from (entry for entry in self.changes.values() if entry is not None and entry.base_objects)

    def descendants(self, parent: str) -> Iterator[Entry]:
        """All entries below ``parent``."""
        for entry in self._reader.load().below(parent):
            if entry.object_id not in self.changes:
                yield entry
        for object_id, changed in self.changes.items():
            if changed is not None and object_id.startswith(f"{parent}{DELIMITER}"):
                yield changed

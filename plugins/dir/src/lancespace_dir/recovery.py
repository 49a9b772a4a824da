"""Rebuilding a manifest that has lost all its versions, from the data files that are left.

Which rows counted stood in the versions. What the files still say is which rows there were, and storage says which
tables there are: so the newest row of every identifier is kept, unless storage contradicts it. That is more than the
catalog may have held: a name that was taken out, but whose files are still there, comes back. The report says so.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
from lance_namespace import ConcurrentModificationError

from lancespace.authoring import translated
from lancespace_dir.listing import Listing
from lancespace_dir.manifest.schema import (
    DIRECTORY,
    NAMESPACE,
    SCHEMA,
    STORAGE_VERSION,
    TABLE,
    TABLE_VERSION,
    Entry,
    parent_of,
)
from lancespace_dir.manifest.schema import to_table as rows_of
from lancespace_dir.manifest.segments import whole
from lancespace_dir.root import DEREGISTERED, root_location
from lancespace_dir.sessions import open_session
from lancespace_dir.versionrows import from_entry

if TYPE_CHECKING:
    from lancespace.authoring import Storage

KEPT = f"{DIRECTORY}_damaged"
"""What the copies of damaged manifests are called, followed by a number."""
REPORT = "report.json"
_SURE = "storage has what the row names"
_UNSURE = "nothing contradicts it; it may have been taken out before"


def is_damaged(storage: Storage) -> bool:
    """Whether there are data files of a manifest and no version of it."""
    listing = Listing(storage)
    has_data = bool(listing.contents(f"{DIRECTORY}/data"))
    return has_data and not any(".manifest" in name for name in listing.contents(f"{DIRECTORY}/_versions"))


def copy_for(storage: Storage) -> str:
    """Where a copy of the manifest as it is can be kept."""
    listing, number = Listing(storage), 1
    while listing.is_occupied(f"{KEPT}_{number}"):
        number += 1
    return f"{KEPT}_{number}"


def rebuild(storage: Storage) -> bool:
    """Keep a copy of all files with a report, then commit what is left as the first version; False if it is whole.

    Raises:
        ConcurrentModificationError: If it was rebuilt meanwhile.
    """
    if not is_damaged(storage):
        return False
    found = Survey(storage)
    copy = copy_for(storage)
    root = storage.path()
    storage.filesystem.copy(f"{root}/{DIRECTORY}/", f"{root}/{copy}/", recursive=True)
    storage.filesystem.pipe_file(f"{root}/{copy}/{REPORT}", json.dumps(found.report(), indent=1).encode())
    _commit(storage, rows_of(found.kept.values(), SCHEMA))
    return True


@dataclass
class Survey:
    """What the data files say, beside what storage has."""

    storage: Storage
    kept: dict[str, Entry] = field(default_factory=dict)
    """The rows that are kept, by identifier."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why a row is kept or left out."""
    unread: list[str] = field(default_factory=list)
    """Data files that could not be read as rows of a manifest."""

    def __post_init__(self) -> None:
        newest = self._newest()
        by_type = {kind: [entry for entry in newest if entry.object_type == kind] for kind in _JUDGES}
        for kind, judge in _JUDGES.items():
            for entry in by_type[kind]:
                against = judge(self, entry)
                self.reasons[entry.object_id] = against or (_UNSURE if kind == NAMESPACE else _SURE)
                if not against:
                    self.kept[entry.object_id] = entry
        for object_id in list(self.kept):
            self._need_parents(object_id)

    def report(self) -> Mapping[str, object]:
        """All of it, for a person."""
        gone = self.reasons.keys() - self.kept.keys()
        return {
            "note": "Rebuilt from data files: names that were dropped or deregistered may be back, and the properties "
            "of the root namespace are lost. All original files are beside this report.",
            "kept": {object_id: self.reasons[object_id] for object_id in sorted(self.kept)},
            "left out": {object_id: self.reasons[object_id] for object_id in sorted(gone)},
            "files that hold no rows": self.unread,
        }

    @functools.cached_property
    def _contents(self) -> Callable[[str], list[str]]:
        """What is in a directory, which many rows may ask for."""
        return functools.cache(Listing(self.storage).contents)

    def _newest(self) -> list[Entry]:
        """The newest row of every identifier, the newest first."""
        filesystem, folder = self.storage.filesystem, f"{self.storage.path()}/{DIRECTORY}/data"
        files = sorted(Listing(self.storage).contents(f"{DIRECTORY}/data"))
        times = {name: filesystem.modified(f"{folder}/{name}") for name in files}
        newest: dict[str, Entry] = {}
        for name in sorted(files, key=lambda one: times[one], reverse=True):
            for entry in reversed(self._entries(name)):
                newest.setdefault(entry.object_id, entry)
        return list(newest.values())

    def _entries(self, name: str) -> list[Entry]:
        try:
            rows = open_session(self.storage, DIRECTORY).open_reader(f"data/{name}").read_all().to_table()
        except (OSError, ValueError):
            rows = pa.table({})
        if not set(SCHEMA.names) <= set(rows.schema.names):
            self.unread.append(name)
            return []
        segment = whole(name, rows)
        return segment.entries(list(range(rows.num_rows)))

    def _need_parents(self, object_id: str) -> None:
        """Enter the namespaces that a kept row is in, where no row of theirs was found."""
        parent = parent_of(object_id)
        if parent and parent not in self.kept:
            self.kept[parent] = Entry(parent, NAMESPACE)
            self.reasons[parent] = f"{object_id!r} is in it"
            self._need_parents(parent)

    def against_table(self, entry: Entry) -> str:
        """Why there is no such table; empty if there is."""
        others = [one.object_id for one in self.kept.values() if one.location == entry.location]
        if others:
            return f"a newer row, {others[0]!r}, has its location"
        inside = self._contents(entry.location or "/")
        if not inside:
            return f"nothing is at its location {entry.location!r}"
        is_hidden = DEREGISTERED in inside and entry.location == root_location(entry.object_id)
        return "it was deregistered" if is_hidden else ""

    def against_version(self, entry: Entry) -> str:
        """Why there is no such version; empty if there is."""
        table = self.kept.get(parent_of(entry.object_id))
        if table is None or table.object_type != TABLE:
            return "its table is left out"
        version = from_entry(entry)
        there = self._contents(f"{table.location}/_versions")
        return "" if {version.manifest.name, version.staged} & set(there) else "its file is gone"

    def against_namespace(self, entry: Entry) -> str:
        """A namespace is nothing but its row."""
        taken = self.kept.get(entry.object_id)
        return "" if taken is None else f"the name is taken by a {taken.object_type}"


_JUDGES: Mapping[str, Callable[[Survey, Entry], str]] = {
    TABLE: Survey.against_table,
    TABLE_VERSION: Survey.against_version,
    NAMESPACE: Survey.against_namespace,
}


def _commit(storage: Storage, rows: pa.Table) -> None:
    """Make the first version, unless there is one."""
    uri, options = storage.uri(DIRECTORY), storage.options
    with translated("rebuild the catalog's manifest"):
        try:
            written = lance.fragment.write_fragments(
                rows, uri, schema=SCHEMA, mode="create", data_storage_version=STORAGE_VERSION, storage_options=options
            )
            operation = lance.LanceOperation.Overwrite(SCHEMA, list(written))
            lance.LanceDataset.commit(uri, operation, read_version=0, max_retries=0, storage_options=options)
        except OSError as error:
            if is_damaged(storage):
                raise
            raise ConcurrentModificationError("The manifest was rebuilt meanwhile: run fsck again.") from error

"""The manifest at its latest version, taken in incrementally.

Every read begins by asking whether the version it knows is still the latest, which is one look for the next version's
file: versions are numbered without gaps. If there is a newer one, only the fragments that changed are read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import lance
import numpy as np

from lancespace_dir.manifest import segments
from lancespace_dir.manifest.index import Index
from lancespace_dir.manifest.schema import DIRECTORY, Entry, check_flags
from lancespace_dir.manifest.segments import Segment

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace.storage import Storage

_MAX_VERSION = 2**64 - 1
_RECENT_SECONDS = 3.0
"""How long the look for the next file may be trusted. Old versions are deleted only much later (:mod:`.upkeep`), so
that a reader who looked recently cannot miss a version because its file is gone already."""
_COLD_LOOKUPS = 3
"""So many single entries are looked up in the table before everything is loaded."""
_NEAR_VERSIONS = 10
"""How many versions on the latest one is looked for file by file."""
_SMALL_TABLE = 5_000
"""A manifest of at most so many rows is loaded at once: that is as fast as looking one entry up."""


class ManifestReader:
    """What the manifest says now. Not thread-safe: :class:`.committer.Manifest` guards it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._uri = storage.uri(DIRECTORY)
        self._versions = f"{storage.path()}/{DIRECTORY}/_versions"
        self.dataset: Any = None
        """The table as it was last seen, or None while there is none."""
        self.version = 0
        """The version last seen; 0 while there is none."""
        self.index: Index | None = None
        """Everything in memory, or None while only single entries were looked up."""
        self._seen_at = 0.0
        self._cold_lookups = 0
        self._fragments: dict[str, Any] = {}
        self._fresh: dict[str, Segment] = {}
        self._this_file = self._next_file = ""

    @property
    def metadata(self) -> Mapping[str, str]:
        """The table's metadata map, where the root namespace's properties are."""
        return {} if self.dataset is None else dict(self.dataset.metadata)

    @property
    def fragments(self) -> Mapping[str, Any]:
        """The fragments' metadata by data file, in the order of their numbers."""
        return self._fragments

    def refresh(self) -> None:
        """See every commit that ended before this call."""
        if self.dataset is None:
            self._open()
        elif not self._is_latest():
            self._take_in(self._newest())
        self._seen_at = time.monotonic()

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        if self.index is None and self.dataset is not None and self._worth_loading():
            self.load()
        if self.index is not None:
            return self.index.get(object_id)
        found = self.look_up([object_id])
        return found[0].entry(0) if found else None

    def load(self) -> Index:
        """Everything in memory; read on the first need."""
        if self.index is None:
            self.index = Index()
            for fragment in [] if self.dataset is None else self.dataset.get_fragments():
                self.index.add(segments.read(fragment))
        return self.index

    def look_up(self, object_ids: list[str]) -> list[Segment]:
        """Entries by identifier straight from the table, through its index if it has one: a segment of one row each."""
        if self.dataset is None:
            return []
        self._cold_lookups += 1
        quoted = ", ".join("'" + object_id.replace("'", "''") + "'" for object_id in object_ids)
        rows = self.dataset.scanner(
            filter=f"object_id IN ({quoted})", limit=len(object_ids), with_row_address=True
        ).to_table()
        numbers = {fragment.id: path for path, fragment in self._fragments.items()}
        found = []
        for position, address in enumerate(rows.column("_rowaddr").to_pylist()):
            row = rows.slice(position, 1).drop_columns(["_rowaddr"])
            found.append(Segment(numbers[address >> 32], row, np.array([address & 0xFFFFFFFF], dtype=np.int64)))
        return found

    def places(self, object_ids: list[str]) -> dict[str, tuple[Segment, int]]:
        """Where those of the entries are that exist."""
        if self.index is None:
            return {segment.ids()[0]: (segment, 0) for segment in self.look_up(object_ids)}
        found = {object_id: self.index.place(object_id) for object_id in object_ids}
        return {object_id: place for object_id, place in found.items() if place is not None}

    def rows_of(self, path: str) -> pa.Table:
        """The live rows of a data file."""
        if self.index is None:
            return segments.read(self.dataset.get_fragment(self._fragments[path].id)).rows
        return self.index.segment(path).rows.take(np.array(self.index.live_rows(path), dtype=np.int64))

    def expect(self, written: list[Segment]) -> None:
        """Files that are about to be committed: when they show up, their rows are known already."""
        self._fresh = {segment.path: segment for segment in written}

    def open_latest(self) -> Any:
        """The table at its latest version, as a handle of its own."""
        return lance.dataset(self._uri, storage_options=self._storage.options)

    def adopt(self, dataset: Any) -> None:
        """Take in the version that our own commit made."""
        if dataset.version > self.version:
            self._take_in(dataset)

    def _open(self) -> None:
        if not self._storage.exists(self._versions):
            return
        self._take_in(self.open_latest())

    def _is_latest(self) -> bool:
        if time.monotonic() - self._seen_at > _RECENT_SECONDS:
            return bool(self.dataset.latest_version == self.version)
        exists = self._storage.exists
        return exists(self._this_file) and not exists(self._next_file)

    def _file_of(self, version: int) -> str:
        return f"{self._versions}/{_MAX_VERSION - version:020d}.manifest"

    def _newest(self) -> Any:
        """The latest version: a few steps on, if it is that near, and otherwise by listing."""
        exists = self._storage.exists
        near = takewhile(exists, (self._file_of(self.version + step) for step in range(1, _NEAR_VERSIONS)))
        steps = sum(1 for _ in near)
        if 0 < steps < _NEAR_VERSIONS - 1:
            return self.dataset.checkout_version(self.version + steps)
        return self.open_latest()

    def _take_in(self, dataset: Any) -> None:
        check_flags(dataset.metadata, writing=False)
        if self.dataset is not None and dataset.schema != self.dataset.schema:
            self.index = None
        fragments = {segments.path_of(f.metadata): f for f in dataset.get_fragments()}
        if self.index is not None:
            self._update(self.index, fragments)
        self._fragments = {path: fragment.metadata for path, fragment in fragments.items()}
        self.dataset = dataset
        self.version = int(dataset.version)
        self._this_file, self._next_file = self._file_of(self.version), self._file_of(self.version + 1)

    def _update(self, index: Index, fragments: Mapping[str, Any]) -> None:
        """Read what is new, forget what is gone; rows that only moved stay known throughout."""
        for path in fragments.keys() - index.paths():
            index.add(self._fresh.get(path) or segments.read(fragments[path]))
        for path in index.paths() - fragments.keys():
            index.discard(path)
        for path, old in self._fragments.items():
            if path in fragments and _deletions(fragments[path].metadata) != _deletions(old):
                index.keep_only(path, segments.live_offsets(fragments[path]))

    def _worth_loading(self) -> bool:
        small = sum(fragment.physical_rows for fragment in self._fragments.values()) <= _SMALL_TABLE
        return small or self._cold_lookups >= _COLD_LOOKUPS


def _deletions(metadata: Any) -> int:
    """How many rows of a fragment are deleted; deletions are never taken back, so the number tells all."""
    return 0 if metadata.deletion_file is None else int(metadata.deletion_file.num_deleted_rows)

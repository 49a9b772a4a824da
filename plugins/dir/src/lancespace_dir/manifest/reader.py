"""The manifest at its latest version, taken in incrementally.

Every read begins by asking whether the version it knows is still the latest, which is one look for the next version's
file: versions are numbered without gaps. On a local disk, a look at when the directory last changed says the same for
less. If there is a newer version, only the fragments that changed are read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
from lance_namespace import TableNotFoundError

from lancespace.errors import translate
from lancespace_dir.manifest import segments
from lancespace_dir.manifest.fragments import Fragment
from lancespace_dir.manifest.index import Index
from lancespace_dir.manifest.schema import DIRECTORY, Entry, check_flags
from lancespace_dir.manifest.segments import Segment
from lancespace_dir.manifest.snapshots import Snapshot
from lancespace_dir.manifest.upkeep import KEEP_LOCALLY, KEEP_REMOTELY
from lancespace_dir.manifest.versions import Mark, VersionFiles

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace.storage import Storage

_COLD_LOOKUPS = 3
"""So many single entries are looked up in the table before everything is loaded."""
_SMALL_TABLE = 5_000
"""A manifest of at most so many rows is loaded at once: that is as fast as looking one entry up."""
_MARK_SECONDS = 1.0
"""So long a directory without a mark of change is taken for unchanged: there are file systems that keep no such time,
or keep another clock's. They are known by a version that comes without a mark, and are asked for none any more."""


class ManifestReader:
    """What the manifest says now. Not thread-safe: :class:`.committer.Manifest` guards it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._uri = storage.uri(DIRECTORY)
        self.files = VersionFiles(storage)
        self.version = 0
        """The version last seen; 0 while there is no table."""
        self.metadata: Mapping[str, str] = {}
        """The table's metadata map, where the root namespace's properties are."""
        self.fragments: Mapping[str, Fragment] = {}
        """The fragments by data file, in the order of their numbers."""
        self.index: Index | None = None
        """Everything in memory, or None while only single entries were looked up."""
        self._handle: Any = None
        self._snapshot: Snapshot | None = None
        self._seen_at = 0.0
        self._mark: Mark | None = None
        self._has_marks = True
        # Old versions are deleted only much later than this, so that a reader who looked recently cannot miss a
        # version because its file is gone already.
        self._trusted = (KEEP_LOCALLY if storage.is_local else KEEP_REMOTELY).total_seconds() / 3
        self._was_there = False
        self._cold_lookups = 0
        self._fresh: dict[str, Segment] = {}

    @property
    def handle(self) -> Any:
        """The table at any version, or None while there is none: for what is the same in all of them."""
        return self._handle

    @property
    def dataset(self) -> Any:
        """The table at the version last seen, or None while there is none."""
        if self._handle is not None and self._handle.version != self.version:
            self._handle = self._handle.checkout_version(self.version)
        return self._handle

    def snapshot(self) -> Snapshot | None:
        """The file of the version last seen, or None if there is none or it is gone."""
        if self._snapshot is None and self.version and self.files.is_known:
            data = self.files.read(self.version)
            self._snapshot = None if data is None else Snapshot(data)
        return self._snapshot

    def is_recent(self, seconds: float = math.inf) -> bool:
        """Whether the version after the one last seen cannot have come and gone since; or that was just now."""
        return time.monotonic() - self._seen_at <= min(self._trusted, seconds)

    def refresh(self) -> None:
        """See every commit that ended before this call."""
        now = time.monotonic()
        mark = self.files.mark() if self._has_marks else None
        if mark is not None and mark == self._mark and now - self._seen_at < _MARK_SECONDS:
            return
        if self._handle is None:
            self._open()
        elif not self._is_there() or not (self.is_recent() or self._is_latest()):
            self._begin(self.open_latest())
        elif self.files.exists(self.version + 1):
            self._catch_up()
            self._has_marks = self._has_marks and (mark is None or mark != self.files.mark())
        self._seen_at, self._mark = now, mark

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        if self.index is None and self._handle is not None and self._worth_loading():
            self.load()
        if self.index is not None:
            return self.index.get(object_id)
        found = self.look_up([object_id])
        return found[0].entry(0) if found else None

    def load(self) -> Index:
        """Everything in memory; read on the first need."""
        if self.index is None:
            index = Index()
            for fragment in [] if self.dataset is None else self.dataset.get_fragments():
                index.add(segments.read(fragment))
            self.index = index  # Not before it is whole: a read may fail, and the next need then begins anew.
        return self.index

    def derived(self) -> list[Entry]:
        """The entries with base objects: views, which are made from those."""
        if self.index is not None or self.dataset is None or self._worth_loading():
            return list(self.load().derived())
        rows = self.dataset.scanner(filter="base_objects IS NOT NULL").to_table()
        found = segments.whole("", rows)
        return [found.entry(row) for row in range(rows.num_rows)]

    def look_up(self, object_ids: list[str]) -> list[Segment]:
        """Entries by identifier straight from the table, through its index if it has one: a segment of one row each."""
        if self._handle is None:
            return []
        self._cold_lookups += 1
        quoted = ", ".join("'" + object_id.replace("'", "''") + "'" for object_id in object_ids)
        rows = self.dataset.scanner(
            filter=f"object_id IN ({quoted})", limit=len(object_ids), with_row_address=True
        ).to_table()
        numbers = {fragment.id: path for path, fragment in self.fragments.items()}
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
            return segments.read(self._fragment(path)).rows
        rows = self.index.segment(path).rows
        if self.fragments[path].deleted_rows == 0:
            return rows
        return rows.take(np.array(self.index.live_rows(path), dtype=np.int64))

    def expect(self, written: list[Segment]) -> None:
        """Files that are about to be committed: when they show up, their rows are known already."""
        self._fresh = {segment.path: segment for segment in written}

    def open_latest(self) -> Any:
        """The table at its latest version, as a handle of its own."""
        return lance.dataset(self._uri, storage_options=self._storage.options)

    def adopt(self, made: Snapshot | Any) -> None:
        """Take in the version that our own commit made: its file, or the table."""
        if made.version > self.version:
            (self._follow if isinstance(made, Snapshot) else self._begin)(made)

    def _open(self) -> None:
        if self._storage.is_local and not self._storage.exists(self.files.path):
            return
        try:
            self._begin(self.open_latest())
        except Exception as error:
            if not isinstance(translate(error, about="open the catalog's manifest"), TableNotFoundError):
                raise

    def _is_there(self) -> bool:
        """Whether the version last seen is where it is looked for.

        A local directory may have been put in the place of another. In an object store, one look makes sure that the
        files are named as expected.
        """
        if self._storage.is_local or not self._was_there:
            self._was_there = self.files.exists(self.version)
        return self._was_there

    def _is_latest(self) -> bool:
        return bool(self._handle.latest_version == self.version)

    def _catch_up(self) -> None:
        """Take in the latest version: locally from its file, unless columns changed, and otherwise from the table."""
        old = self.snapshot() if self._storage.is_local else None
        data = None if old is None else self.files.read(self._newest())
        new = None if data is None else Snapshot(data)
        if old is None or new is None or new.schema != old.schema:
            self._begin(self.open_latest())
        else:
            self._follow(new)

    def _newest(self) -> int:
        """The number of the latest version, in steps that double and then halve."""
        newest, step = self.version, 1
        while self.files.exists(newest + step):
            newest, step = newest + step, 2 * step
        while step > 1:
            step //= 2
            newest += step * self.files.exists(newest + step)
        return newest

    def _begin(self, dataset: Any) -> None:
        """Take in the table as it is now, whatever it was before."""
        check_flags(dataset.metadata, writing=False)
        if self._handle is not None and dataset.schema != self._handle.schema:
            self.index = None
        self._handle, self._snapshot = dataset, None
        fragments = map(Fragment.of, (fragment.metadata for fragment in dataset.get_fragments()))
        self._take_in(int(dataset.version), {fragment.path: fragment for fragment in fragments}, dataset.metadata)

    def _follow(self, snapshot: Snapshot) -> None:
        """Take in a later version with the same columns."""
        check_flags(snapshot.metadata, writing=False)
        self._snapshot = snapshot
        self._take_in(snapshot.version, snapshot.fragments, snapshot.metadata)

    def _take_in(self, version: int, fragments: Mapping[str, Fragment], metadata: Mapping[str, str]) -> None:
        before, self.fragments = self.fragments, fragments
        self.version, self.metadata = version, dict(metadata)
        if self.index is not None:
            try:
                self._update(self.index, before)
            except BaseException:
                self.index = None  # Half of it is taken in; the next need loads it anew.
                raise

    def _update(self, index: Index, before: Mapping[str, Fragment]) -> None:
        """Read what is new, forget what is gone; rows that only moved stay known throughout."""
        for path in self.fragments.keys() - index.paths():
            index.add(self._fresh.get(path) or segments.read(self._fragment(path)))
        for path in index.paths() - self.fragments.keys():
            index.discard(path)
        for path, old in before.items():
            if path in self.fragments and self.fragments[path].deleted_rows != old.deleted_rows:
                index.keep_only(path, segments.live_offsets(self._fragment(path)))

    def _fragment(self, path: str) -> Any:
        return self.dataset.get_fragment(self.fragments[path].id)

    def _worth_loading(self) -> bool:
        small = sum(fragment.physical_rows for fragment in self.fragments.values()) <= _SMALL_TABLE
        return small or self._cold_lookups >= _COLD_LOOKUPS

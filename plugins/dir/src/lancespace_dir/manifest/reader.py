"""The manifest at its latest version, taken in incrementally.

Every read begins by asking whether the version it knows is still the latest, which is one look for the next version's
file: versions are numbered without gaps. On a local disk another look follows, for the version that it knows, as old
ones are deleted (:mod:`.versions`). If there is a newer version, only the fragments that changed are read.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import lance
import numpy as np
from lance_namespace import ConcurrentModificationError, InternalError, TableNotFoundError

from lancespace.authoring import relative_steps, translate
from lancespace_dir.listing import Listing
from lancespace_dir.manifest import segments
from lancespace_dir.manifest.fragments import Fragment
from lancespace_dir.manifest.index import Index
from lancespace_dir.manifest.schema import DIRECTORY, Entry, check_flags, located, quoted
from lancespace_dir.manifest.segments import Segment
from lancespace_dir.manifest.snapshots import Snapshot
from lancespace_dir.manifest.versions import Identity, VersionFile, VersionFiles

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace.authoring import Storage

Result = TypeVar("Result")

_COLD_LOOKUPS = 3
"""So many single entries are looked up in the table before everything is loaded."""
_SMALL_TABLE = 5_000
"""A manifest with at most this number of rows is loaded at once: that is as fast as one look-up."""
_TRUSTED_SECONDS = 1200.0
"""After so long a reader lists the versions once: Lance's own clean-up may have deleted the next one."""
_TRIES = 20
"""So often a reader looks again because all that it found is gone."""


class Outdated(ConcurrentModificationError):  # noqa: N818 - as Conflict
    """What was being read is gone."""

    def __init__(self) -> None:
        super().__init__("Other writers deleted the version of the catalog that this call was reading: repeat it.")


class Moment(NamedTuple):
    """A point in time: by the clock that nobody sets, and by the one that goes on while the machine is suspended."""

    steady: float
    wall: float

    @classmethod
    def now(cls) -> Moment:
        """This one."""
        return cls(time.monotonic(), time.time())

    def is_recent(self, seconds: float) -> bool:
        """Whether it is at most ``seconds`` ago by both clocks."""
        now = Moment.now()
        return max(now.steady - self.steady, now.wall - self.wall) <= seconds


class ManifestReader:
    """What the manifest says now. Not thread-safe: :class:`.committer.ManifestTable` guards it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._uri = storage.uri(DIRECTORY)
        self.files = VersionFiles(storage)
        self.version = 0
        """The version last seen; 0 while there is no table."""
        self.identity: Identity | None = None
        """Which file that version has on a local disk."""
        self.metadata: Mapping[str, str] = {}
        """The table's metadata map, where the root namespace's properties are."""
        self.fragments: Mapping[str, Fragment] = {}
        """The fragments by data file, in the order of their numbers."""
        self.index: Index | None = None
        """Everything in memory, or None while only single entries were looked up."""
        self._handle: Any = None
        self._snapshot: Snapshot | None = None
        self.seen_at = Moment(0.0, 0.0)
        """When the last look began."""
        self._is_used = False
        """Whether something was read since the last look; then the rest must be of the same version."""
        self._was_there = False
        self._cold_lookups = 0
        self._fresh: dict[str, Segment] = {}

    @property
    def handle(self) -> Any:
        """The table at any version, or None while there is none: for what is the same in all of them."""
        return self._handle

    @property
    def dataset(self) -> Any:
        """The table at the version last seen, or None while there is none.

        Raises:
            Outdated: If that version is gone.
        """
        if self._handle is not None and self._handle.version != self.version:
            handle = self._handle.checkout_version(self.version)
            if not self._is_there():
                raise Outdated
            self._handle = handle
        return self._handle

    def snapshot(self) -> Snapshot | None:
        """The file of the version last seen, or None if there is none, it is gone, or its format is not known."""
        if self._snapshot is None and self.version and self.files.is_known:
            found = self.files.read(self.version)
            is_same = found is not None and found.identity == self.identity
            self._snapshot = Snapshot.parse(found.data) if found is not None and is_same else None
        return self._snapshot

    def refresh(self) -> None:
        """See every commit that ended before this call."""
        now = Moment.now()
        self._is_used = False
        if self._handle is None:
            self._open()
        elif not self.seen_at.is_recent(_TRUSTED_SECONDS):
            self._reopen()
        elif self.files.is_local:
            self._look_locally()
        else:
            self._look_remotely()
        self.seen_at = now

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        if self.index is None and self._handle is not None and self._worth_loading():
            self.load()
        if self.index is not None:
            self._is_used = True
            return self.index.get(object_id)
        found = self.look_up([object_id])
        return found[0].entry(0) if found else None

    def load(self) -> Index:
        """Everything in memory; read on the first need."""
        if self.index is None:
            self.index = self._attempt(self._loaded)
        self._is_used = True
        return self.index

    def derived(self) -> list[Entry]:
        """The entries with base objects: views, which are made from those."""
        if self.index is not None or self.dataset is None or self._worth_loading():
            return list(self.load().derived())
        return self._attempt(lambda: self._matching("base_objects IS NOT NULL"))

    def tables_at(self, *locations: str) -> list[tuple[str, Entry]]:
        """Each location with the tables whose location is the same, contains it, or lies inside it."""
        if self.index is not None or self.dataset is None or len(locations) > 1 or self._worth_loading():
            return list(self.load().tables_at(*locations))
        self._cold_lookups += 1
        return [
            (location, entry)
            for location in filter(relative_steps, locations)
            for entry in self._attempt(functools.partial(self._matching, located(location)))
        ]

    def _matching(self, condition: str) -> list[Entry]:
        """The entries that a filter finds in the table."""
        found = segments.whole("", self.dataset.scanner(filter=condition).to_table())
        return [found.entry(row) for row in range(found.rows.num_rows)]

    def look_up(self, object_ids: list[str]) -> list[Segment]:
        """Entries by identifier straight from the table, through its index if it has one: a segment of one row each."""
        if self._handle is None:
            return []
        self._cold_lookups += 1
        ids = ", ".join(map(quoted, object_ids))
        wanted = {"filter": f"object_id IN ({ids})", "limit": len(object_ids), "with_row_address": True}
        rows = self._attempt(lambda: self.dataset.scanner(**wanted).to_table())
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
            return self._attempt(lambda: segments.read(self._fragment(path)).rows)
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

    def adopt(self, made: Snapshot | Any, identity: Identity | None) -> None:
        """Take in the version that our own commit made: its file, or the table."""
        version = int(made.version)
        if version > self.version:
            (self._follow if isinstance(made, Snapshot) else self._begin)(made, identity)

    def _open(self) -> None:
        """Take in the latest version, if there is one."""
        found = self._latest()
        if found is not None:
            self._begin_at(*found)
        elif self._has_data():
            self._reopen()  # It may have been created meanwhile.

    def _reopen(self) -> None:
        """Take in the latest version, which the table must have.

        Raises:
            InternalError: If it has none.
        """
        found = self._latest()
        if found is None:
            raise InternalError(
                f"The catalog's manifest is damaged: no version of the table is left in '{DIRECTORY}/_versions' of "
                f"{self._storage.location!r}. Nothing was changed. Run 'lancespace fsck', which tells what can be "
                "recovered, or restore the directory from a backup."
            )
        self._begin_at(*found)

    def _begin_at(self, dataset: Any, identity: Identity | None) -> None:
        """Take in a version that was listed, and those that came since."""
        self._begin(dataset, identity)
        if identity is not None:
            self._look_locally()

    def _latest(self) -> tuple[Any, Identity | None] | None:
        """The table at its latest version, or None if it has none; on a local disk, which file that version has."""
        if self.files.is_local and not self._storage.exists(self.files.path):
            return None
        for _ in range(_TRIES if self.files.is_local else 0):
            file = self.files.newest()
            if file is None:
                break
            dataset = self._open_version(file)
            if dataset is not None:
                return dataset, file.identity
        try:
            return self.open_latest(), None
        except Exception as error:
            if isinstance(translate(error, about="open the catalog's manifest"), TableNotFoundError):
                return None
            raise

    def _has_data(self) -> bool:
        """Whether there are data files; a version comes before them, in this and in the Rust implementation."""
        return bool(Listing(self._storage).contents(f"{DIRECTORY}/data"))

    def _look_locally(self) -> None:
        """Look for the next version first, and for the one that is known after that."""
        has_next = self.files.exists(self.version + 1)
        if not self._is_there() or (has_next and not self._catch_up()):
            self._reopen()

    def _look_remotely(self) -> None:
        if not self._was_there:  # One look makes sure that the files are named as expected.
            self._was_there = self.files.exists(self.version)
        if not self._was_there or self.files.exists(self.version + 1):
            self._reopen()

    def _is_there(self) -> bool:
        """Whether the file of the version last seen is there; if so, so are all since."""
        is_known = self.identity is not None or not self.files.is_local
        return is_known and self.files.is_there(self.version, self.identity)

    def _catch_up(self) -> bool:
        """Take in the latest version from its file; False if Lance must read it, or what is known is gone by now."""
        old = self.snapshot()
        found = None if old is None else self.files.read(self._newest())
        if old is None or found is None or not self._is_there():
            return False
        new = Snapshot.parse(found.data)
        if new is None or new.schema != old.schema:
            return False
        self._follow(new, found.identity)
        return True

    def _open_version(self, file: VersionFile) -> Any:
        """The table at a version, or None if that is gone."""
        try:
            dataset = lance.dataset(self._uri, version=file.number, storage_options=self._storage.options)
        except (ValueError, OSError):
            if self.files.is_there(file.number, file.identity):
                raise
            return None
        return dataset if self.files.is_there(file.number, file.identity) else None

    def _newest(self) -> int:
        """The number of the latest version, in steps that double and then halve."""
        newest, step = self.version, 1
        while self.files.exists(newest + step):
            newest, step = newest + step, 2 * step
        while step > 1:
            step //= 2
            newest += step * self.files.exists(newest + step)
        return newest

    def _begin(self, dataset: Any, identity: Identity | None) -> None:
        """Take in the table as it is now, whatever it was before."""
        check_flags(dataset.metadata, writing=False)
        if self._handle is not None and dataset.schema != self._handle.schema:
            self.index = None
        self._handle, self._snapshot = dataset, None
        fragments = map(Fragment.of, (fragment.metadata for fragment in dataset.get_fragments()))
        self.identity = identity
        self._take_in(int(dataset.version), {fragment.path: fragment for fragment in fragments}, dataset.metadata)

    def _follow(self, snapshot: Snapshot, identity: Identity | None) -> None:
        """Take in a later version with the same columns."""
        check_flags(snapshot.metadata, writing=False)
        self._snapshot, self.identity = snapshot, identity
        self._take_in(snapshot.version, snapshot.fragments, snapshot.metadata)

    def _take_in(self, version: int, fragments: Mapping[str, Fragment], metadata: Mapping[str, str]) -> None:
        before, self.fragments = self.fragments, fragments
        self.version, self.metadata = version, dict(metadata)
        if self.index is not None:
            try:
                self._update(self.index, before)
            except BaseException as error:
                self.index = None  # Half of it is taken in; the next need loads it anew.
                if not isinstance(error, Exception):
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

    def _loaded(self) -> Index:
        index = Index()
        for fragment in [] if self.dataset is None else self.dataset.get_fragments():
            index.add(segments.read(fragment))
        return index

    def _attempt(self, read: Callable[[], Result]) -> Result:
        """Read from storage; if the files of the version are gone, read the latest one.

        Raises:
            Outdated: If they are gone, and something of that version was read already.
        """
        try:
            found = read()
        except Exception as error:
            if self._is_there() and not self.files.exists(self.version + 1):
                raise
            if self._is_used:
                raise Outdated from error
            before = self.version
            self.refresh()
            if self.version == before:
                raise
            found = self._attempt(read)
        self._is_used = True
        return found

    def _worth_loading(self) -> bool:
        small = sum(fragment.physical_rows for fragment in self.fragments.values()) <= _SMALL_TABLE
        return small or self._cold_lookups >= _COLD_LOOKUPS

"""Keeping the manifest fast as it grows: few fragments, an index, and few old versions.

Upkeep runs in the background of whoever commits, a little for each so many versions, so that its cost is spread over
all commits of all processes and no reader waits for it. It commits like everybody else, and if somebody else was
faster it leaves the rest to the next turn.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import lance
import pyarrow as pa

from lancespace_dir.manifest import plans
from lancespace_dir.manifest.cleanup import clean_up
from lancespace_dir.manifest.commit_queue import CommitQueue
from lancespace_dir.manifest.plans import TIP_ROWS, Conflict, tip_of
from lancespace_dir.manifest.reader import ManifestReader, Outdated
from lancespace_dir.manifest.writer import ManifestWriter

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.fragments import Fragment

_log = logging.getLogger(__name__)

EVERY_VERSIONS = 64
"""Whoever commits a version that is a multiple of this does a round."""
MERGE_WIDTH = 16
"""So many fragments of one size class become one of the next."""
LARGEST_MERGED = 16 * 16 * TIP_ROWS
"""Fragments with this many rows are left alone: rewriting them would cost more than it saves."""
INDEX_FROM_ROWS = 50_000
"""So many rows that no index covers are worth bringing it up to date; a scan of fewer is as fast."""
_TRIES = 100
"""Merged rows are offered so often before they are given up: others commit meanwhile."""


class Upkeep:
    """The rounds of one catalog."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._processes = CommitQueue(storage, "upkeep")
        self._due = 0
        self._state = threading.Lock()
        self._thread: threading.Thread | None = None

    def consider(self, version: int) -> None:
        """Start a round if this version calls for one; one that is under way goes on with it."""
        if version % EVERY_VERSIONS == 0:
            with self._state:
                self._due += 1
                if self._due == 1:
                    self._thread = threading.Thread(target=self._rounds, name="lancespace-upkeep")
                    self._thread.start()

    def close(self) -> None:
        """Wait for the round that is under way."""
        if self._thread is not None:
            self._thread.join()

    def run(self, rounds: int = 1) -> None:
        """So many rounds at once."""
        reader = ManifestReader(self._storage)
        while merge(self._storage, reader):
            pass
        update_index(reader)
        reader.refresh()
        clean_up(self._storage, reader, rounds * EVERY_VERSIONS)

    def _rounds(self) -> None:
        rounds = 0
        while self._is_due(rounds):
            rounds = self._due
            with self._processes.try_acquire() as is_free:
                try:
                    if is_free:
                        self.run(rounds)
                except Exception:  # noqa: BLE001 - the catalog is as good without it, and the next round tries again
                    _log.info("Upkeep of the catalog's manifest was not finished", exc_info=True)

    def _is_due(self, done: int) -> bool:
        with self._state:
            self._due -= done
            return self._due > 0


def merge(storage: Storage, reader: ManifestReader) -> bool:
    """Merge one group of small fragments, if there is one and others leave it as it is."""
    reader.refresh()
    group = _group(reader.fragments)
    if not group:
        return False
    numbers = [reader.fragments[path].id for path in group]
    rows = pa.concat_tables([reader.dataset.get_fragment(number).to_table() for number in numbers]).combine_chunks()
    new = lance.fragment.write_fragments(rows, reader.dataset, schema=rows.schema, mode="append")
    before, writer = reader.fragments, ManifestWriter(storage, reader.files)
    for _ in range(_TRIES):
        if any(reader.fragments.get(path) != before[path] for path in group):
            return False
        with suppress(Conflict, Outdated):
            reader.adopt(*writer.publish(plans.merging(reader, numbers), new))
            return True
        reader.refresh()
    return False


def _group(fragments: Mapping[str, Fragment]) -> list[str]:
    """The data files of fragments to merge: one size class that has become too many, never the tip.

    Without a tip there is nothing that a commit and a merge beside it would both leave in place for the next commit to
    touch, so the merge waits for one (:mod:`.plans`).
    """
    tip = tip_of(fragments)
    if tip is None:
        return []
    live = {path: fragment.physical_rows - fragment.deleted_rows for path, fragment in fragments.items()}
    classes: dict[int, list[str]] = {}
    for path, rows in live.items():
        if path != tip and rows < LARGEST_MERGED:
            classes.setdefault(_size_class(rows), []).append(path)
    for members in classes.values():
        if len(members) >= MERGE_WIDTH and sum(live[path] for path in members) > TIP_ROWS:
            return members
    return []


def _size_class(rows: int) -> int:
    size = 0
    while rows > TIP_ROWS:
        rows //= MERGE_WIDTH
        size += 1
    return size


def update_index(reader: ManifestReader) -> None:
    """Have the index on ``object_id`` cover almost all rows."""
    reader.refresh()
    dataset, version, identity = reader.dataset, reader.version, reader.identity
    if dataset is None:
        return
    indexes = [index for index in dataset.describe_indices() if index.field_names == ["object_id"]]
    covered = {number for index in indexes for segment in index.segments for number in segment.fragment_ids}
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    if sum(fragment.num_rows for fragment in fragments if fragment.id not in covered) < INDEX_FROM_ROWS:
        return
    dataset.create_scalar_index("object_id", "BTREE", replace=True)
    if not reader.files.is_there(version, identity):  # Lance cannot have seen what the fragments have become since.
        reader.open_latest().drop_index("object_id_idx")

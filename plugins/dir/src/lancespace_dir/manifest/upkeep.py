"""Keeping the manifest fast as it grows: few fragments, an index, and few old versions.

Upkeep runs in the background of whoever commits, a little for each so many versions, so that its cost is spread over
all commits of all processes and no reader waits for it. It commits like everybody else, and if somebody else was
faster it leaves the rest to the next turn.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa

from lancespace_dir.manifest import segments
from lancespace_dir.manifest.plans import TIP_ROWS, tip_of

if TYPE_CHECKING:
    from lancespace_dir.manifest.turns import Turns

_log = logging.getLogger(__name__)

EVERY_VERSIONS = 64
"""Whoever commits a version that is a multiple of this does a round."""
CLEAN_EVERY_ROUNDS = 32
"""Old versions are deleted in one of so many rounds: finding out what they alone need reads them all."""
MERGE_WIDTH = 16
"""So many fragments of one size class become one of the next."""
LARGEST_MERGED = 16 * 16 * TIP_ROWS
"""Fragments with this many rows are left alone: rewriting them would cost more than it saves."""
INDEX_FROM_ROWS = 50_000
"""So many rows that no index covers are worth bringing it up to date; a scan of fewer is as fast."""
KEEP_LOCALLY = timedelta(seconds=10)
"""Older versions are deleted. A reader trusts what it saw for less (:mod:`.reader`)."""
KEEP_REMOTELY = timedelta(hours=1)
"""The same in object stores, where a listing costs more than a look for the next version, and old files cost little."""


class Upkeep:
    """The rounds of one catalog."""

    def __init__(self, turns: Turns, latest: Callable[[], Any], keep: timedelta) -> None:
        self._turns = turns
        self._latest = latest
        self._keep = keep
        self._thread: threading.Thread | None = None

    def consider(self, version: int) -> None:
        """Start a round if this version calls for one and none is under way."""
        if version % EVERY_VERSIONS == 0 and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._round, args=(version,), name="lancespace-upkeep")
            self._thread.start()

    def close(self) -> None:
        """Wait for the round that is under way."""
        if self._thread is not None:
            self._thread.join()

    def run(self, version: int) -> None:
        """One round, called for by a version."""
        dataset = self._latest()
        while (merged := merge(dataset)) is not None:
            dataset = merged
        update_index(dataset)
        if version % (EVERY_VERSIONS * CLEAN_EVERY_ROUNDS) == 0:
            self._latest().cleanup_old_versions(self._keep, error_if_tagged_old_versions=False)

    def _round(self, version: int) -> None:
        with self._turns.if_free() as is_free:
            if not is_free:
                return
            try:
                self.run(version)
            except Exception:  # noqa: BLE001 - the catalog is as good without it, and the next round tries again
                _log.info("Upkeep of the catalog's manifest was not finished", exc_info=True)


def merge(dataset: Any) -> Any | None:
    """Merge one group of small fragments; the table at its new version, or None if there is nothing to merge."""
    group = _group({segments.path_of(f.metadata): f.metadata for f in dataset.get_fragments()})
    if not group:
        return None
    rows = pa.concat_tables([dataset.get_fragment(number).to_table() for number in group]).combine_chunks()
    merged = lance.fragment.write_fragments(rows, dataset, schema=rows.schema, mode="append")
    operation = lance.LanceOperation.Update(removed_fragment_ids=group, updated_fragments=[], new_fragments=merged)
    return lance.LanceDataset.commit(dataset, operation, read_version=dataset.version, max_retries=0)


def _group(fragments: Mapping[str, Any]) -> list[int]:
    """The numbers of fragments to merge: one size class that has become too many, never the tip.

    Without a tip there is nothing that a commit and a merge beside it would both leave in place for the next commit to
    touch, so the merge waits for one (:mod:`.plans`).
    """
    tip = tip_of(fragments)
    if tip is None:
        return []
    classes: dict[int, list[Any]] = {}
    for path, fragment in fragments.items():
        live = fragment.num_rows
        if path != tip and live < LARGEST_MERGED:
            classes.setdefault(_size_class(live), []).append(fragment)
    for members in classes.values():
        if len(members) >= MERGE_WIDTH and sum(member.num_rows for member in members) > TIP_ROWS:
            return [member.id for member in members]
    return []


def _size_class(rows: int) -> int:
    size = 0
    while rows > TIP_ROWS:
        rows //= MERGE_WIDTH
        size += 1
    return size


def update_index(dataset: Any) -> None:
    """Have the index on ``object_id`` cover almost all rows."""
    indexes = [index for index in dataset.describe_indices() if index.field_names == ["object_id"]]
    covered = {number for index in indexes for segment in index.segments for number in segment.fragment_ids}
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    if sum(fragment.num_rows for fragment in fragments if fragment.id not in covered) >= INDEX_FROM_ROWS:
        dataset.create_scalar_index("object_id", "BTREE", replace=True)

"""Small fragments: many appends leave many of them, and each commit writes a manifest that lists all fragments."""

from __future__ import annotations

import logging

import lance
from lance.optimize import Compaction
from lance_namespace import LanceNamespaceError

from lancespace.errors import translated
from lancespace.tables.access import TableRef

_log = logging.getLogger(__name__)

INTERVAL = 64
"""How many commits of appends a process makes to a table before it merges the small fragments."""

SMALL_BYTES = 1 << 20
"""Fragments whose files are larger are left as they are."""


def merge_small_fragments(ref: TableRef, branch: str | None) -> None:
    """Rewrite the small fragments that were appended last as one; earlier versions keep their files.

    The rows are safe already, so a failure is only logged: later appends try again. Fragments that an index covers are
    left out, since the index would have to be rewritten too.
    """
    try:
        with translated(f"merge the small fragments of table {ref.name!r}"):
            dataset = ref.open(branch=branch)
            merged = _small_tail(dataset)
            if len(merged) > 1:
                kept = [one.fragment_id for one in dataset.get_fragments() if one.fragment_id not in merged]
                Compaction.execute(dataset, {"excluded_fragment_ids": kept})
    except LanceNamespaceError as error:
        _log.warning("%s; later appends try again", error)


def _small_tail(dataset: lance.LanceDataset) -> set[int]:
    """The small fragments after the last one that is large or that an index covers."""
    indexed = {
        number for index in dataset.describe_indices() for segment in index.segments for number in segment.fragment_ids
    }
    tail: set[int] = set()
    for fragment in reversed(dataset.get_fragments()):
        sizes = [file.file_size_bytes for file in fragment.metadata.files]
        if fragment.fragment_id in indexed or None in sizes or sum(map(int, filter(None, sizes))) > SMALL_BYTES:
            break
        tail.add(fragment.fragment_id)
    return tail

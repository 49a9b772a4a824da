"""Rows with equal keys that two writers commit at the same time: Lance lets both pass, so the later one clears up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from lancespace.errors import translated
from lancespace.jobs import deletions
from lancespace.jobs.changing import ADDRESS, OFFSET
from lancespace_spark import keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import lance
    from lance.fragment import FragmentMetadata

    from lancespace.handles import TableHandle

_ROUNDS = 10

Marks = dict[int, "FragmentMetadata | None"]
"""What is left of fragments after rows of them were marked as deleted; None if no row is left."""


def mark(dataset: lance.LanceDataset, addresses: np.ndarray) -> Marks:
    """Mark rows as deleted, in files that no version names yet."""
    owners = addresses >> 32
    return {
        number: dataset.get_fragment(number).delete_rows((addresses[owners == number] & OFFSET).tolist())
        for number in np.unique(owners).tolist()
    }


def split(marks: Marks) -> tuple[list[FragmentMetadata], list[int]]:
    """The fragments of which something is left, and the numbers of the others."""
    left = [fragment for fragment in marks.values() if fragment is not None]
    return left, [number for number, fragment in marks.items() if fragment is None]


def withdraw(handle: TableHandle, marks: Marks) -> None:
    """Remove marks whose commit was refused."""
    deletions.withdraw(handle, (None if one is None else one.to_json() for one in marks.values()))


def remove(
    handle: TableHandle,
    done: lance.LanceDataset,
    base: lance.LanceDataset,
    ours: Sequence[FragmentMetadata],
    on: list[str],
) -> int:
    """Delete the rows that others committed between two versions and that have one of our keys.

    It is as if they had been there before, and we had replaced them. The answer is how many there were.

    Raises:
        InvalidTableStateError: If it does not succeed: then the table has keys twice, and the message says so.
    """
    our_files = {file.path for fragment in ours for file in fragment.files}
    their_files = _files(done.get_fragments()) - _files(base.get_fragments()) - our_files
    own = [one for one in done.get_fragments() if not our_files.isdisjoint(_files([one]))]
    wanted = keys.comparable(done.scanner(columns=on, fragments=own).to_table(), on)
    for _ in range(_ROUNDS):
        latest = handle.open()
        addresses = _found(latest, our_files, their_files, wanted, on)
        if addresses is None:
            break
        if not addresses.size:
            return 0
        try:
            _delete(handle, latest, addresses)
        except ConcurrentModificationError:
            continue
        return int(addresses.size)
    raise InvalidTableStateError(
        f"while rows were upserted into table {handle.name!r}, others added rows with the same keys, and changed or "
        f"compacted them before they could be removed: since version {done.version} the table has keys twice. Restore "
        f"version {base.version}, or delete the rows of such keys, and run the upsert again"
    )


def _found(
    latest: lance.LanceDataset, ours: set[str], theirs: set[str], wanted: pa.Table, on: list[str]
) -> np.ndarray | None:
    """Where the rows of others with our keys are; None if nobody can tell them from ours any more.

    Fragments are known by their files. Files that are gone were compacted, or all their rows replaced: their rows may
    be in any fragment then, theirs and ours even in the same one.
    """
    fragments = latest.get_fragments()
    there = _files(fragments)
    if ours <= there:
        looked = theirs if theirs <= there else there - ours
        chosen = [one for one in fragments if not looked.isdisjoint(_files([one]))]
        return np.asarray(_with_keys(latest, chosen, wanted, on)[ADDRESS], np.int64)
    several = keys.twice(_with_keys(latest, fragments, wanted, on), on)
    return None if several.num_rows else np.empty(0, np.int64)


def _with_keys(latest: lance.LanceDataset, fragments: list[Any], wanted: pa.Table, on: list[str]) -> pa.Table:
    """The rows of some fragments that have one of the keys, with their addresses."""
    if not fragments:
        return pa.table({ADDRESS: pa.array([], pa.int64())})
    rows = latest.scanner(columns=[*on, ADDRESS], fragments=fragments).to_table()
    return keys.comparable(rows, on).join(wanted, on, join_type="left semi")


def _files(fragments: Iterable[Any]) -> set[str]:
    return {file.path for fragment in fragments for file in fragment.metadata.files}


def _delete(handle: TableHandle, latest: lance.LanceDataset, addresses: np.ndarray) -> None:
    import lance

    marks = mark(latest, addresses)
    left, gone = split(marks)
    operation = lance.LanceOperation.Delete(left, gone, "replaced by an upsert")
    try:
        with translated(f"upsert into table {handle.name!r}"):
            lance.LanceDataset.commit(latest, operation, read_version=latest.version)
    except ConcurrentModificationError:
        withdraw(handle, marks)
        raise

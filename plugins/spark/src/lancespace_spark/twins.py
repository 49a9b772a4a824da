"""Rows with equal keys that two writers commit at the same time: Lance lets both pass, so the later one clears up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from lancespace.errors import translated
from lancespace.jobs import deletions
from lancespace.jobs.changing import ADDRESS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import lance
    from lance.fragment import FragmentMetadata

    from lancespace.handles import TableHandle

OFFSET = 0xFFFFFFFF
"""The part of a row's address that counts the rows of its fragment; the rest is the fragment's number."""
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
    files = {file.path for fragment in ours for file in fragment.files}
    is_ours = {one.fragment_id: one.metadata.files[0].path in files for one in done.get_fragments()}
    before = {one.fragment_id for one in base.get_fragments()}
    theirs = {number for number in is_ours if not is_ours[number] and number not in before}
    keys = done.scanner(columns=on, fragments=_fragments(done, [n for n in is_ours if is_ours[n]])).to_table()
    for _ in range(_ROUNDS):
        latest = handle.open()
        addresses = _with_keys(latest, theirs, keys, on)
        if not addresses.size:
            return 0
        try:
            _delete(handle, latest, addresses)
        except ConcurrentModificationError:
            continue
        return int(addresses.size)
    raise InvalidTableStateError(
        f"while rows were upserted into table {handle.name!r}, others added rows with the same keys, and could not be "
        f"stopped from changing them: version {done.version} has keys twice. Restore version {base.version}, or run "
        "the upsert again after deleting one of each"
    )


def _with_keys(latest: lance.LanceDataset, theirs: Collection[int], keys: pa.Table, on: list[str]) -> np.ndarray:
    """The addresses of rows in some fragments that have one of the keys."""
    still = _fragments(latest, [one.fragment_id for one in latest.get_fragments() if one.fragment_id in theirs])
    if not still:
        return np.empty(0, np.int64)
    rows = latest.scanner(columns=[*on, ADDRESS], fragments=still).to_table()
    return np.asarray(rows.join(keys, on, join_type="left semi")[ADDRESS], np.int64)


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


def _fragments(dataset: lance.LanceDataset, numbers: Collection[int]) -> list[Any]:
    return [dataset.get_fragment(number) for number in numbers]

"""The marks on rows that an upsert replaces, which nobody sees before its commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lancespace_jobs import OFFSET, remove_deletion_files

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata

    from lancespace_jobs import TableSpec

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


def withdraw(handle: TableSpec, marks: Marks) -> None:
    """Remove marks whose commit was refused."""
    remove_deletion_files(handle, (None if one is None else one.to_json() for one in marks.values()))

"""Where the rows are that were added to a table, or changed, between two of its versions."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from lance_namespace import UnsupportedOperationError

from lancespace_spark.streams import at, contents
from lancespace_spark.transactions import COMPACTION, operation_of

if TYPE_CHECKING:
    import lance

OF_ROWS = frozenset({"Append", "Update", "Delete", "Merge", "DataReplacement"})
"""Transactions that leave other rows where they are. They write the rows that they change into new fragments, or the
columns that they change into new files; what they delete is only marked."""
OF_NAMES = "Project"
"""A transaction that drops or renames columns, and so may let go of files."""


def changed_fragments(dataset: lance.LanceDataset, start: int, end: int) -> frozenset[int]:
    """The fragments of a version that have all the rows which are not as they were at an earlier one.

    They may have others besides; rows that were deleted meanwhile are in none.

    Raises:
        UnsupportedOperationError: If that cannot be told: compaction has put rows of both kinds together, or the table
            was overwritten or restored.
        InvalidTableStateError: If a version between is gone.
    """
    found: frozenset[int] = frozenset()
    before = contents(at(dataset, start))
    for version in range(start + 1, end + 1):
        after, kind = contents(at(dataset, version)), operation_of(dataset, version)
        if kind == COMPACTION:
            found = _compacted(found, before.keys() - after.keys(), after.keys() - before.keys())
        elif kind in OF_ROWS:
            written = (number for number, one in after.items() if number not in before or one[:2] != before[number][:2])
            found = found.union(written) & after.keys()
        elif kind != OF_NAMES and after != before:
            raise UnsupportedOperationError(f"version {version} is a {kind}, after which no row is known again")
        before = after
    return found


def _compacted(found: frozenset[int], gone: AbstractSet[int], new: AbstractSet[int]) -> frozenset[int]:
    """The same after a compaction: its fragments have the rows of those that are gone."""
    if gone & found and gone - found:
        raise UnsupportedOperationError("rows that were changed, and others, were compacted together")
    return (found - gone).union(new if gone <= found else ())

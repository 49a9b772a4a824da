"""What the tasks of a job have written: rows on their way into data files, and the fragments that came of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

Written = dict[str, Any]
"""What a task wrote: ``fragments``, as JSON values, and the number of ``rows``."""


class CountedRows:
    """The rows of a task, counted as they pass."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        from lancespace.alignment import aligned

        self._batches = aligned(batches)
        self._first: pa.RecordBatch | None = None
        self.count = 0

    def is_empty(self) -> bool:
        """Whether there is no batch at all; asked once, before the first is taken."""
        self._first = next(self._batches, None)
        return self._first is None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        batch = self._first
        while batch is not None:
            self.count += batch.num_rows
            yield batch
            batch = next(self._batches, None)


def fragments_of(results: Iterable[Written]) -> list[FragmentMetadata]:
    """The fragments of several tasks, as Lance has them."""
    from lance.fragment import FragmentMetadata

    return [FragmentMetadata.from_json(json.dumps(one)) for result in results for one in result["fragments"]]


def files_of(fragments: Iterable[FragmentMetadata]) -> list[str]:
    """The names of the data files of fragments."""
    return [file.path for fragment in fragments for file in fragment.files]

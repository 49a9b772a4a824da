"""What the tasks of a job have written: rows on their way into data files, and the fragments that came of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from lance.fragment import FragmentMetadata
from lance_namespace import UnsupportedOperationError

from lancespace.authoring import Task, Work, aligned

_BLOB_MARK = b"lance-encoding:blob"
_BLOB_EXTENSION = "lance.blob"

Written = dict[str, Any]
"""What a task wrote: ``fragments``, as JSON values, and the number of ``rows``."""


class CountedRows:
    """The rows of a task, counted as they pass."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
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


def map_rows(
    work: Work,
    function: Callable[[Task], Written],
    tasks: Sequence[Task],
    message: str,
    *,
    key: Callable[[Task], str],
    is_there: Callable[[Any], bool],
) -> list[tuple[Task, Written]]:
    """Run tasks whose results have ``rows``, and report how many rows are done."""
    results: list[tuple[Task, Written]] = []
    rows = 0
    work.report(0.0, message, 0)
    for task, result in work.map(function, tasks, key=key, is_there=is_there):
        results.append((task, result))
        rows += result["rows"]
        work.report(len(results) / len(tasks), message, rows)
    return results


def fragments_of(results: Iterable[Written]) -> list[FragmentMetadata]:
    """The fragments of several tasks, as Lance has them."""
    return [FragmentMetadata.from_json(json.dumps(one)) for result in results for one in result["fragments"]]


def files_of(fragments: Iterable[FragmentMetadata]) -> list[str]:
    """The names of the data files of fragments."""
    return [file.path for fragment in fragments for file in fragment.files]


def refuse_blobs(schema: pa.Schema, doing: str, instead: str) -> None:
    """Say in time that a job which writes rows anew cannot do that.

    Raises:
        UnsupportedOperationError: If a column is one of blobs, or holds some.
    """
    for field in schema:
        if any(map(_is_blob, _with_children(field))):
            raise UnsupportedOperationError(f"{doing}: the column {field.name!r} holds blobs: {instead}")


def _with_children(field: pa.Field) -> Iterable[pa.Field]:
    yield field
    if pa.types.is_nested(field.type):
        for number in range(field.type.num_fields):
            yield from _with_children(field.type.field(number))


def _is_blob(field: pa.Field) -> bool:
    is_marked = (field.metadata or {}).get(_BLOB_MARK) == b"true"
    return is_marked or getattr(field.type, "extension_name", "").startswith(_BLOB_EXTENSION)

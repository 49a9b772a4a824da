"""Where tasks put their data files until the driver makes them visible in one commit, or takes them away again.

Tasks die without a word, so what they wrote must be found without them. On a local disk they write into a folder of
the job, from which the driver moves the files of a commit into the table. In an object store moving means copying;
there they write into the table, where nobody sees files that no version names, and keep a list of them.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from lancespace.storage import scheme_of
from lancespace_spark.casting import cast_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from lance.fragment import FragmentMetadata

    from lancespace.storage import Storage
    from lancespace.tables.access import TableRef
    from lancespace_spark.handles import TableHandle

FOLDER = "_lancespace_jobs"
"""The folder of a table in which jobs keep what is not part of it; nothing of Lance's has that name."""


@dataclass
class Written(WriterCommitMessage):
    """What a task wrote."""

    fragments: tuple[str, ...] = ()
    """As JSON."""
    rows: int = 0


@dataclass(frozen=True)
class Stage:
    """The files of one job, from the first task to the commit."""

    handle: TableHandle
    job: str
    mode: str
    """As :func:`lance.fragment.write_fragments` has it: append, overwrite or create."""

    def prepare(self) -> None:
        """On the driver, before any task: make the job's folder, with the table's schema in it."""
        place = self.handle.place()
        if _is_local(place) and self.mode != "create":
            dataset = self.handle.open()
            dataset.shallow_clone(self._folder(place), dataset.version)

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, **settings: Any) -> Written:
        """In a task: write rows as data files, which nobody sees yet."""
        import pyarrow as pa
        from lance.fragment import write_fragments

        rows = _Rows(batches, schema)
        if rows.is_empty():
            return Written()
        place = self.handle.place()
        reader = pa.RecordBatchReader.from_batches(schema, rows)
        if _is_local(place):
            written = write_fragments(reader, self._folder(place), schema=schema, mode=self.mode, **settings)
        else:
            written = write_fragments(reader, self._target(place), schema=schema, mode=self.mode, **settings)
            self._list(place, written)
        return Written(tuple(json.dumps(fragment.to_json()) for fragment in written), rows.count)

    def publish(self, messages: Iterable[WriterCommitMessage | None]) -> list[FragmentMetadata]:
        """On the driver, before the commit: the files of the tasks that count, in their final place."""
        fragments = fragments_of(messages)
        place = self.handle.place()
        if _is_local(place):
            storage = self.handle.storage(place)
            data, staged = (storage.path(f"{at}/data") for at in (place.location, self._folder(place)))
            os.makedirs(data, exist_ok=True)  # noqa: PTH103 - a path of a file system, as all in storage
            for path in _files(fragments):
                with suppress(FileNotFoundError):  # An earlier commit of the same messages moved it.
                    os.rename(posixpath.join(staged, path), posixpath.join(data, path))  # noqa: PTH104 - as above
        return fragments

    def discard(self, kept: Sequence[FragmentMetadata] = ()) -> None:
        """Remove everything of the job that is not part of what was committed."""
        place = self.handle.place()
        storage = self.handle.storage(place)
        if not _is_local(place):
            self._remove_listed(storage, place, frozenset(_files(kept)))
        storage.delete_tree(storage.path(self._folder(place)))

    def _folder(self, place: TableRef) -> str:
        return f"{place.location}/{FOLDER}/{self.job}"

    def _target(self, place: TableRef) -> Any:
        return place.location if self.mode == "create" else self.handle.open()

    def _list(self, place: TableRef, written: Sequence[FragmentMetadata]) -> None:
        storage = self.handle.storage(place)
        for path in _files(written):
            storage.filesystem.pipe_file(storage.path(f"{self._folder(place)}/{path}"), b"")

    def _remove_listed(self, storage: Storage, place: TableRef, kept: frozenset[str]) -> None:
        listed = storage.filesystem.find(storage.path(self._folder(place)))
        for path in {posixpath.basename(str(entry)) for entry in listed} - kept:
            with suppress(FileNotFoundError):
                storage.filesystem.rm_file(storage.path(f"{place.location}/data/{path}"))


class _Rows:
    """The rows of a task in the stored types, counted as they pass."""

    def __init__(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
        self._batches = iter(batches)
        self._schema = schema
        self._first: pa.RecordBatch | None = None
        self.count = 0

    def is_empty(self) -> bool:
        self._first = next(self._batches, None)
        return self._first is None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        batch = self._first
        while batch is not None:
            self.count += batch.num_rows
            yield cast_batch(batch, self._schema)
            batch = next(self._batches, None)


def fragments_of(messages: Iterable[WriterCommitMessage | None]) -> list[FragmentMetadata]:
    """The fragments that tasks tell of; a task that failed tells nothing."""
    from lance.fragment import FragmentMetadata

    told = (message.fragments for message in messages if isinstance(message, Written))
    return [FragmentMetadata.from_json(text) for fragments in told for text in fragments]


def _files(fragments: Iterable[FragmentMetadata]) -> list[str]:
    return [file.path for fragment in fragments for file in fragment.files]


def _is_local(place: TableRef) -> bool:
    return scheme_of(place.location) == "file"

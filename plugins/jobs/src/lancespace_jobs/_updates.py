"""Updating and deleting rows of large tables: a task for each fragment, one commit for all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from lance.fragment import FragmentMetadata, RowIdSequence
from lance_namespace import ConcurrentModificationError, InvalidInputError, UnsupportedOperationError

from lancespace import Namespace
from lancespace.authoring import Identifier, Job, Work, fingerprint, public, translated
from lancespace_jobs._stages import Stage
from lancespace_jobs._submitted import SubmittedJob, submit
from lancespace_jobs._table_spec import TableSpec
from lancespace_jobs._written import Written, map_rows, refuse_blobs
from lancespace_tables import all_shallow, field_at, in_rounds, shallow

_DELETION_ENDINGS = {"array": "arrow", "bitmap": "bin"}
"""By the type of the file, as a fragment's metadata has it."""

ROW_ID = "_rowid"
ADDRESS = "_rowaddr"
OFFSET = 0xFFFFFFFF
"""The part of a row's address that counts the rows of its fragment; the rest is the fragment's number."""


@dataclass(frozen=True)
class _Change:
    """A fragment to change."""

    table: TableSpec
    version: int
    fragment: int
    files: tuple[str, ...]
    """What it consists of: another table of the same name has fragments of the same numbers."""
    where: str | None
    stage: Stage | None = None
    updates: tuple[tuple[str, str], ...] = ()


@public
def delete_rows(namespace: Namespace, table: Identifier, where: str) -> SubmittedJob:
    """Delete the rows for which a filter holds."""
    handle = TableSpec.of(namespace, table)
    _check(handle, where)
    mark = fingerprint("delete", namespace.namespace_id(), handle.id, where)
    return submit(namespace, Job("delete", handle.name, lambda work: _run_delete(handle, where, work), mark))


@public
def update_rows(
    namespace: Namespace, table: Identifier, updates: Mapping[str, str], where: str | None = None
) -> SubmittedJob:
    """Set columns to the values of SQL expressions, in all rows or where a filter holds.

    Raises:
        InvalidInputError: If there is nothing to update.
        TableColumnNotFoundError: If there is no such column.
        UnsupportedOperationError: If a column is a field of a struct, or the table has blobs.
    """
    if not updates:
        raise InvalidInputError("update_rows needs at least one column to set")
    handle = TableSpec.of(namespace, table)
    dataset = _check(handle, where)
    refuse_blobs(dataset.schema, f"update table {handle.name!r}", "delete the rows and insert them anew")
    for column in updates:
        field_at(dataset, column)
        if column not in dataset.schema.names:
            raise UnsupportedOperationError(
                f"update_rows sets whole columns, and {column!r} is a part of one: set that, e.g. with named_struct(…)"
            )
    pairs = tuple(sorted(all_shallow(updates).items()))
    mark = fingerprint("update", namespace.namespace_id(), handle.id, pairs, where)
    return submit(namespace, Job("update", handle.name, lambda work: _run_update(handle, pairs, where, work), mark))


def delete_in_fragment(task: _Change) -> dict[str, Any]:
    """Mark rows of a fragment as deleted; runs wherever the engine computes."""
    with translated(f"delete rows of table {task.table.name!r}"):
        fragment = task.table.open(task.version).get_fragment(task.fragment)
        before = fragment.count_rows()
        left = fragment.delete(task.where)
    if left is None:
        return {"fragment": None, "rows": before}
    return {"fragment": left.to_json(), "rows": before - left.num_rows}


def update_in_fragment(task: _Change) -> dict[str, Any]:
    """Write the changed rows of a fragment anew and mark the old ones; runs wherever the engine computes."""
    assert task.stage is not None  # noqa: S101 - an update has one
    with translated(f"update table {task.table.name!r}"):
        dataset = task.table.open(task.version)
        fragment = dataset.get_fragment(task.fragment)
        rows = _Updated(dataset, fragment, task)
        written = task.stage.write(rows, dataset.schema)
        if dataset.has_stable_row_ids and written["rows"]:
            written = carried(written, rows.ids())
        left = fragment.delete_rows(rows.offsets()) if written["rows"] else fragment.metadata
    return {**written, "fragment": None if left is None else left.to_json()}


class _Updated:
    """The rows of a fragment that are to change, as they are to be; where they were is remembered as they pass."""

    def __init__(self, dataset: lance.LanceDataset, fragment: Any, task: _Change) -> None:
        updates = dict(task.updates)
        self._schema = dataset.schema
        columns = {name: updates.get(name, _quoted(name)) for name in dataset.schema.names}
        columns |= {ADDRESS: ADDRESS, ROW_ID: ROW_ID}
        self._scanner = fragment.scanner(columns=columns, filter=task.where)
        self._addresses: list[np.ndarray] = []
        self._ids: list[np.ndarray] = []

    def offsets(self) -> list[int]:
        """Where the rows that have passed are in their fragment."""
        found: list[int] = (np.concatenate(self._addresses) & OFFSET).tolist()
        return found

    def ids(self) -> np.ndarray:
        """The row ids of those that have passed."""
        return np.concatenate(self._ids)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._scanner.to_reader():
            self._addresses.append(np.asarray(batch.column(ADDRESS), np.int64))
            self._ids.append(np.asarray(batch.column(ROW_ID), np.int64))
            yield batch.select(self._schema.names).cast(self._schema)


def _run_delete(handle: TableSpec, where: str, work: Work) -> None:
    def attempt() -> None:
        dataset = handle.open()
        tasks = [_Change(handle, dataset.version, *_identity(one), where) for one in dataset.get_fragments()]
        touched = _touched(work, delete_in_fragment, tasks, "deleting", _Kept(handle))
        if touched:
            gone = [number for number, result in touched.items() if result["fragment"] is None]
            operation = lance.LanceOperation.Delete(_left(touched), gone, where)
            with _marked(handle, touched), translated(f"delete rows of table {handle.name!r}"):
                lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)

    in_rounds(f"table {handle.name!r}", work, attempt)


def _run_update(handle: TableSpec, updates: tuple[tuple[str, str], ...], where: str | None, work: Work) -> None:
    def attempt() -> None:
        dataset = handle.open()
        stage = Stage(handle, f"{work.mark}-{dataset.version}", "append")
        stage.prepare()
        found = map(_identity, dataset.get_fragments())
        tasks = [_Change(handle, dataset.version, *one, where, stage, updates) for one in found]
        touched = _touched(work, update_in_fragment, tasks, "updating", _Kept(handle, stage))
        if not touched:
            stage.discard()
            return
        gone = [number for number, result in touched.items() if result["fragment"] is None]
        with (
            stage.published(touched.values()) as fragments,
            _marked(handle, touched),
            translated(f"update table {handle.name!r}"),
        ):
            operation = lance.LanceOperation.Update(gone, _left(touched), fragments)
            lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)

    in_rounds(f"table {handle.name!r}", work, attempt)


@dataclass(frozen=True)
class _Kept:
    """Whether what an earlier attempt wrote is still there."""

    table: TableSpec
    stage: Stage | None = None

    def __call__(self, result: dict[str, Any]) -> bool:
        marks = deletion_file_of(result["fragment"])
        has_marks = marks is None or self.table.place().has_files([marks])
        return has_marks and (self.stage is None or self.stage.has(result))


def _identity(fragment: Any) -> tuple[int, tuple[str, ...]]:
    return fragment.fragment_id, tuple(file.path for file in fragment.metadata.files)


def _touched(work: Work, function: Any, tasks: list[_Change], doing: str, is_there: _Kept) -> dict[int, dict[str, Any]]:
    """The fragments in which something changed, and what."""
    changed = map_rows(work, function, tasks, f"{doing} in {len(tasks)} fragments", key=_key, is_there=is_there)
    return {task.fragment: result for task, result in changed if result["rows"]}


def _key(task: _Change) -> str:
    """What a fragment becomes depends on the version that it is of."""
    return fingerprint(task.version, task.fragment, task.files)


@contextmanager
def _marked(handle: TableSpec, touched: Mapping[int, Mapping[str, Any]]) -> Iterator[None]:
    """Around a commit: if others were in its way, the marks of deleted rows are removed again."""
    try:
        yield
    except ConcurrentModificationError:
        remove_deletion_files(handle, (result["fragment"] for result in touched.values()))
        raise


def _left(touched: Mapping[int, Mapping[str, Any]]) -> list[FragmentMetadata]:
    kept = (result["fragment"] for result in touched.values())
    return [FragmentMetadata.from_json(json.dumps(one)) for one in kept if one is not None]


def _check(handle: TableSpec, where: str | None) -> lance.LanceDataset:
    """Open the table and have the filter understood before a job is made of it."""
    dataset = handle.open()
    with translated(f"change rows of table {handle.name!r} where {where!r}"):
        dataset.scanner(columns=[], with_row_id=True, filter=shallow(where)).explain_plan()
    return dataset


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def carried(written: Written, ids: np.ndarray) -> Written:
    """What a task wrote, with the ids that its rows had, in the order of the rows."""
    fragments, start = [], 0
    for fragment in written["fragments"]:
        stop = start + fragment["physical_rows"]
        told = RowIdSequence(ids[start:stop].tolist()).to_inline_metadata().asdict()
        fragments.append({**fragment, "row_id_meta": told})
        start = stop
    return {**written, "fragments": fragments}


def deletion_file_of(fragment: dict[str, Any] | None) -> str | None:
    """Where the marks of a fragment, given as a JSON value, are in its table; None if it has none."""
    marks = None if fragment is None else fragment["deletion_file"]
    if fragment is None or marks is None:
        return None
    return f"_deletions/{fragment['id']}-{marks['read_version']}-{marks['id']}.{_DELETION_ENDINGS[marks['file_type']]}"


def remove_deletion_files(handle: TableSpec, fragments: Iterable[dict[str, Any] | None]) -> None:
    """Remove the marks of fragments, given as JSON values, whose commit was refused."""
    storage = handle.storage()
    for path in filter(None, map(deletion_file_of, fragments)):
        with suppress(FileNotFoundError):
            storage.filesystem.rm_file(f"{storage.path()}/{path}")

"""Writing and counting rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property
from itertools import chain
from typing import Any

import lance
import pyarrow as pa
from lance_namespace import (
    ConcurrentModificationError,
    CountTableRowsRequest,
    CountTableRowsResponse,
    DeleteFromTableRequest,
    DeleteFromTableResponse,
    InsertIntoTableRequest,
    InsertIntoTableResponse,
    InvalidInputError,
    MergeInsertIntoTableRequest,
    MergeInsertIntoTableResponse,
    TableAlreadyExistsError,
    TableColumnNotFoundError,
    UnsupportedOperationError,
    UpdateTableRequest,
    UpdateTableResponse,
)

from lancespace.authoring import INSERT_MODES, ArrowData, choose, hookimpl, marks, translated
from lancespace_tables._access import OperationGroup, TableLocation
from lancespace_tables._appends import Append, Appends, NoDataError, append_rows
from lancespace_tables._creation import create_declared
from lancespace_tables._expressions import all_shallow, shallow
from lancespace_tables._fields import field_at
from lancespace_tables._layouts import to_layout, to_storable

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours"}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*", re.IGNORECASE)

_SMALL_BYTES = 1 << 20
"""Appends up to this size are held in memory and share commits."""


class DataOperations(OperationGroup):
    """insert, merge_insert, update, delete and count, on main or on a branch."""

    @hookimpl
    def insert_into_table(self, request: InsertIntoTableRequest, data: ArrowData) -> InsertIntoTableResponse:
        """Append rows, or replace all of them; the first rows of a declared table create it."""
        mode = choose("mode", request.mode, INSERT_MODES).lower()
        rows = _CountedRows(data.reader())
        ref = self.backend.locate(request)
        with translated(f"insert into table {ref.name!r}"):
            if mode == "append":
                version = self._append(ref, request.branch, rows)
            else:
                version = self._overwrite(ref, request.branch, rows.reader())
        return InsertIntoTableResponse(num_inserted_rows=rows.count, version=version)

    @hookimpl
    def merge_insert_into_table(
        self, request: MergeInsertIntoTableRequest, data: ArrowData
    ) -> MergeInsertIntoTableResponse:
        """Update, insert and delete rows by key, in one commit; into a declared table, all rows are inserted.

        ``timeout`` limits how long a merge that lost to another writer is tried again.
        """
        if not request.on:
            raise InvalidInputError("merge_insert_into_table needs 'on': the columns whose values identify a row")
        rows = _CountedRows(data.reader())
        ref = self.backend.locate(request)
        with translated(f"merge into table {ref.name!r}"):
            dataset = ref.latest(request.branch)
            if dataset is None:
                _refuse_missing(request.on, rows.schema)
                version = self._create(ref, rows.reader())
                return MergeInsertIntoTableResponse(
                    num_updated_rows=0, num_inserted_rows=rows.count, num_deleted_rows=0, version=version
                )
            done = _merge(dataset, request).execute(to_layout(rows.reader(), dataset.schema))
        return MergeInsertIntoTableResponse(version=dataset.version, **done)

    @hookimpl
    def update_table(self, request: UpdateTableRequest) -> UpdateTableResponse:
        """Set columns to the values of SQL expressions, where the predicate holds."""
        updates = dict(request.updates)
        if len(updates) != len(request.updates):
            raise InvalidInputError("update_table: a column may be set only once in 'updates'")
        if request.properties:
            raise UnsupportedOperationError("update_table changes rows; it cannot change the properties of the table")
        with self.opened(request, "update") as dataset:
            done = dataset.update(all_shallow(updates), where=shallow(request.predicate))
        return UpdateTableResponse(updated_rows=done["num_rows_updated"], version=dataset.version)

    @hookimpl
    def delete_from_table(self, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
        """Delete the rows where the predicate holds."""
        with self.opened(request, "delete rows of") as dataset:
            dataset.delete(shallow(request.predicate))
        return DeleteFromTableResponse(version=dataset.version)

    @hookimpl
    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        """Count the rows where the predicate holds, or all."""
        with self.opened(request, "count the rows of") as dataset:
            return CountTableRowsResponse(count=dataset.count_rows(shallow(request.predicate)))

    def _append(self, ref: TableLocation, branch: str | None, rows: _CountedRows) -> int:
        """Append rows; small ones together with those of others."""
        reader = rows.reader()
        batches, is_small = _first(reader, _SMALL_BYTES)
        try:
            if is_small:
                return self._appends.commit(
                    Append(ref, branch, rows.schema, batches, marks(num_inserted_rows=rows.count))
                )
            return append_rows(ref, branch, rows.schema, chain(batches, reader))
        except NoDataError:
            return self._create(ref, pa.RecordBatchReader.from_batches(rows.schema, chain(batches, reader)))

    def _overwrite(self, ref: TableLocation, branch: str | None, rows: pa.RecordBatchReader) -> int:
        dataset = ref.latest(branch)
        if dataset is None:
            return self._create(ref, rows)
        done = lance.write_dataset(to_storable(rows), dataset, mode="overwrite", transaction_properties=marks())
        version: int = done.version
        return version

    @cached_property
    def _appends(self) -> Appends:
        return Appends()

    def _create(self, ref: TableLocation, rows: pa.RecordBatchReader) -> int:
        """Write the first version of a declared table, unless another caller just did."""
        try:
            return create_declared(self.backend, ref, rows)
        except TableAlreadyExistsError as error:
            raise ConcurrentModificationError(
                f"table {ref.name!r} was created by another caller at the same time: send the rows again"
            ) from error


class _CountedRows:
    """A reader that counts what passes: the answer needs the number, and the data may be read only once."""

    def __init__(self, source: pa.RecordBatchReader) -> None:
        self._source = source
        self.schema = source.schema
        self.count = 0

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._source:
            self.count += batch.num_rows
            yield batch


def _first(rows: pa.RecordBatchReader, most: int) -> tuple[list[pa.RecordBatch], bool]:
    """The first batches, until they are larger than ``most`` bytes; and whether these are all."""
    batches, size = [], 0
    for batch in rows:
        batches.append(batch)
        size += batch.nbytes
        if size > most:
            return batches, False
    return batches, True


def _refuse_missing(columns: list[str], schema: pa.Schema) -> None:
    for column in columns:
        if column not in schema.names:
            raise TableColumnNotFoundError(
                f"there is no column {column!r} to match on; there are {', '.join(schema.names)}"
            )


def _merge(dataset: lance.LanceDataset, request: MergeInsertIntoTableRequest) -> Any:
    """The configured merge; a condition asks for its clause by itself, as the spec's flags default to false."""
    for column in request.on or []:
        field_at(dataset, column)
    builder = dataset.merge_insert(request.on)
    update_if, delete_if = request.when_matched_update_all_filt, request.when_not_matched_by_source_delete_filt
    if request.when_matched_update_all or update_if is not None:
        builder = builder.when_matched_update_all(shallow(update_if))
    if request.when_not_matched_insert_all:
        builder = builder.when_not_matched_insert_all()
    if request.when_not_matched_by_source_delete or delete_if is not None:
        builder = builder.when_not_matched_by_source_delete(shallow(delete_if))
    if request.timeout is not None:
        builder = builder.retry_timeout(_duration(request.timeout))
    if "use_index" in request.model_fields_set:  # The model's default is false, pylance's the faster true.
        builder = builder.use_index(bool(request.use_index))
    return builder


def _duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InvalidInputError(f"timeout {text!r} is not a duration: write it as '500ms', '30s', '5m' or '1h'")
    return timedelta(**{_UNITS[match.group(2).lower()]: float(match.group(1))})

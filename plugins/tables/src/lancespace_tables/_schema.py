"""Changing a table's columns and metadata."""

from __future__ import annotations

from typing import Any

import lance
import pyarrow as pa
from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableAddColumnsResponse,
    AlterTableAlterColumnsRequest,
    AlterTableAlterColumnsResponse,
    AlterTableBackfillColumnsRequest,
    AlterTableDropColumnsRequest,
    AlterTableDropColumnsResponse,
    InvalidInputError,
    UpdateFieldMetadataRequest,
    UpdateFieldMetadataResponse,
    UpdateTableSchemaMetadataRequest,
    UpdateTableSchemaMetadataResponse,
)
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry
from lance_namespace_urllib3_client.models.update_field_metadata_entry import UpdateFieldMetadataEntry
from pydantic import BaseModel

from lancespace.authoring import hookimpl, is_reserved
from lancespace_tables._access import OperationGroup, transaction_id
from lancespace_tables._backfill import allow_functions
from lancespace_tables._column_values import COMPUTED_KEY
from lancespace_tables._expressions import all_shallow, shallow
from lancespace_tables._fields import check_new_name, metadata_at
from lancespace_tables._json_schema import type_from_json
from lancespace_tables._virtual_columns import altered_metadata, virtual_fields


class SchemaOperations(OperationGroup):
    """add, alter and drop columns; schema and field metadata. Each is one commit: all of a request or nothing."""

    @hookimpl
    def alter_table_add_columns(self, request: AlterTableAddColumnsRequest) -> AlterTableAddColumnsResponse:
        """Add columns that are filled now (``expression``), or declared (``computed``, ``virtual_column``).

        Those that are declared are filled by backfill, which is started here if ``auto_backfill`` says so.
        """
        expressions, declared = _sorted_out(request.new_columns)
        automatic = [entry.name for entry in declared if entry.virtual_column and entry.virtual_column.auto_backfill]
        for name in automatic:
            allow_functions(self.backend.connection, name)
        with self.opened(request, "add columns to") as dataset:
            dataset.add_columns(
                all_shallow(expressions) or [field for entry in declared for field in _fields(dataset, entry)]
            )
        return AlterTableAddColumnsResponse(version=dataset.version, context=self._started(request, automatic))

    @hookimpl
    def alter_table_alter_columns(self, request: AlterTableAlterColumnsRequest) -> AlterTableAlterColumnsResponse:
        """Rename columns, change their type or whether they may be null; or replace functions of virtual columns."""
        if not request.alterations:
            raise InvalidInputError("alter_table_alter_columns needs at least one alteration")
        if any(entry.virtual_column is not None for entry in request.alterations):
            return self._alter_functions(request)
        alterations = [_alteration(entry) for entry in request.alterations]
        with self.opened(request, "alter columns of") as dataset:
            dataset.alter_columns(*alterations)
        return AlterTableAlterColumnsResponse(version=dataset.version)

    @hookimpl
    def alter_table_drop_columns(self, request: AlterTableDropColumnsRequest) -> AlterTableDropColumnsResponse:
        """Drop columns; their data stays in older versions."""
        if not request.columns:
            raise InvalidInputError("alter_table_drop_columns needs at least one column")
        with self.opened(request, "drop columns of") as dataset:
            dataset.drop_columns(request.columns)
            return AlterTableDropColumnsResponse(version=dataset.version, transaction_id=transaction_id(dataset))

    @hookimpl
    def update_table_schema_metadata(
        self, request: UpdateTableSchemaMetadataRequest
    ) -> UpdateTableSchemaMetadataResponse:
        """Replace the schema's metadata by what is given."""
        with self.opened(request, "update the schema metadata of") as dataset:
            metadata = dataset.update_schema_metadata(request.metadata or {}, replace=True)
            return UpdateTableSchemaMetadataResponse(metadata=metadata, transaction_id=transaction_id(dataset))

    @hookimpl
    def update_field_metadata(self, request: UpdateFieldMetadataRequest) -> UpdateFieldMetadataResponse:
        """Merge into, or replace, the metadata of fields; a null value removes a key."""
        with self.opened(request, "update field metadata of") as dataset:
            changes = {entry.path: _metadata_change(dataset, entry) for entry in request.updates}
            if len(changes) != len(request.updates) or not changes:
                raise InvalidInputError(
                    "update_field_metadata needs at least one update, and no more than one for a field"
                )
            dataset.update_field_metadata(changes)
            fields = {path: metadata_at(dataset, path) for path in changes}
        return UpdateFieldMetadataResponse(version=dataset.version, fields=fields)

    def _alter_functions(self, request: AlterTableAlterColumnsRequest) -> AlterTableAlterColumnsResponse:
        if any(entry.virtual_column is None for entry in request.alterations):
            raise InvalidInputError("functions of virtual columns and other alterations need two requests")
        automatic = [
            each.path for each in request.alterations if each.virtual_column and each.virtual_column.auto_backfill
        ]
        for path in automatic:
            allow_functions(self.backend.connection, path)
        with self.opened(request, "alter virtual columns of") as dataset:
            changes: dict[str, dict[str, str | None]] = {}
            for entry in request.alterations:
                changes |= altered_metadata(dataset, entry)
            dataset.update_field_metadata(changes)
        return AlterTableAlterColumnsResponse(version=dataset.version, context=self._started(request, automatic))

    def _started(self, request: BaseModel, columns: list[str]) -> dict[str, str] | None:
        """Start the backfills of columns; their jobs are in the context of the answer, as it has no other place."""
        place = {"id": getattr(request, "id", None), "branch": getattr(request, "branch", None)}
        jobs = {}
        for column in columns:
            backfill = AlterTableBackfillColumnsRequest(**place, column=column)
            jobs[f"backfill_job_id.{column}"] = self.backend.operation("alter_table_backfill_columns")(backfill).job_id
        return jobs or None


def _sorted_out(entries: list[AddColumnsEntry]) -> tuple[dict[str, str], list[AddColumnsEntry]]:
    """The SQL of the columns to fill now, by name, and the columns to declare; a request has one kind of them."""
    if not entries:
        raise InvalidInputError("alter_table_add_columns needs at least one column")
    expressions: dict[str, str] = {}
    for entry in entries:
        given = [one for one in (entry.expression, entry.computed, entry.virtual_column) if one is not None]
        if len(given) != 1:
            raise InvalidInputError(
                f"column {entry.name!r} needs either 'expression' or 'computed' or 'virtual_column'"
            )
        if entry.expression is not None:
            expressions[entry.name] = entry.expression
    declared = [entry for entry in entries if entry.expression is None]
    if expressions and declared:
        raise InvalidInputError(
            "columns with 'expression' and declared ones, with 'computed' or 'virtual_column', need two requests, "
            "as each is one commit"
        )
    _refuse_twice(entries)
    return expressions, declared


def _refuse_twice(entries: list[AddColumnsEntry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        outputs = [entry.name] if entry.virtual_column is None else [one.column for one in entry.virtual_column.outputs]
        for name in outputs:
            if check_new_name(name) in seen:
                raise InvalidInputError(f"column {name!r} is given twice")
            seen.add(name)


def _fields(dataset: lance.LanceDataset, entry: AddColumnsEntry) -> list[pa.Field]:
    """The all-null columns of an entry that declares some."""
    if entry.computed is not None:
        return [_computed_field(dataset, entry.name, entry.computed)]
    return virtual_fields(dataset, entry)


def _computed_field(dataset: lance.LanceDataset, name: str, sql: str) -> pa.Field:
    """The all-null column of a computed column; its type is what the expression yields on this table."""
    columns = {name: shallow(sql), "_rowid": "_rowid"}  # A scan of constants alone is refused.
    kind = dataset.scanner(columns=columns, limit=0).projected_schema.field(name).type
    return pa.field(name, kind, metadata={COMPUTED_KEY: sql})


def _alteration(entry: AlterColumnsEntry) -> dict[str, Any]:
    changes = {
        "name": None if entry.rename is None else check_new_name(entry.rename),
        "nullable": entry.nullable,
        "data_type": None if entry.data_type is None else type_from_json(entry.data_type),
    }
    given = {key: value for key, value in changes.items() if value is not None}
    if not given:
        raise InvalidInputError(f"column {entry.path!r}: give at least one of 'rename', 'data_type' and 'nullable'")
    return {"path": entry.path, **given}


def _metadata_change(dataset: lance.LanceDataset, entry: UpdateFieldMetadataEntry) -> dict[str, str | None]:
    """Replacing as a merge that removes all other keys, so that replaced and merged fields go into one commit.

    What makes a column a computed or a virtual one stays.
    """
    current = [key for key in metadata_at(dataset, entry.path) if not is_reserved(key)]
    return {**dict.fromkeys(current), **entry.metadata} if entry.replace else dict(entry.metadata)

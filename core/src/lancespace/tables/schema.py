"""Changing a table's columns and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableAddColumnsResponse,
    AlterTableAlterColumnsRequest,
    AlterTableAlterColumnsResponse,
    AlterTableDropColumnsRequest,
    AlterTableDropColumnsResponse,
    InvalidInputError,
    UnsupportedOperationError,
    UpdateFieldMetadataRequest,
    UpdateFieldMetadataResponse,
    UpdateTableSchemaMetadataRequest,
    UpdateTableSchemaMetadataResponse,
)

from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, name_of, transaction_id
from lancespace.tables.fields import metadata_at
from lancespace.tables.jsonarrow import type_from_json

if TYPE_CHECKING:
    import lance
    from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
    from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry
    from lance_namespace_urllib3_client.models.update_field_metadata_entry import UpdateFieldMetadataEntry

COMPUTED_KEY = "computed_column.expression"
"""Field metadata of a computed column: the SQL expression that a backfill evaluates."""


class SchemaOperations(TableAccess):
    """add, alter and drop columns; schema and field metadata. Each is one commit: all of a request or nothing."""

    @hookimpl
    def alter_table_add_columns(self, request: AlterTableAddColumnsRequest) -> AlterTableAddColumnsResponse:
        """Add columns that are filled now (``expression``) or declared to be filled by backfill (``computed``)."""
        expressions, computed = _sorted_out(request.new_columns)
        dataset = self.open(request)
        with translated(f"add columns to table {name_of(request)!r}"):
            dataset.add_columns(expressions or [_computed_field(dataset, *column) for column in computed.items()])
        return AlterTableAddColumnsResponse(version=dataset.version)

    @hookimpl
    def alter_table_alter_columns(self, request: AlterTableAlterColumnsRequest) -> AlterTableAlterColumnsResponse:
        """Rename columns, change their type or whether they may be null."""
        alterations = [_alteration(entry) for entry in request.alterations]
        if not alterations:
            raise InvalidInputError("alter_table_alter_columns needs at least one alteration")
        dataset = self.open(request)
        with translated(f"alter columns of table {name_of(request)!r}"):
            dataset.alter_columns(*alterations)
        return AlterTableAlterColumnsResponse(version=dataset.version)

    @hookimpl
    def alter_table_drop_columns(self, request: AlterTableDropColumnsRequest) -> AlterTableDropColumnsResponse:
        """Drop columns; their data stays in older versions."""
        if not request.columns:
            raise InvalidInputError("alter_table_drop_columns needs at least one column")
        dataset = self.open(request)
        with translated(f"drop columns of table {name_of(request)!r}"):
            dataset.drop_columns(request.columns)
            return AlterTableDropColumnsResponse(version=dataset.version, transaction_id=transaction_id(dataset))

    @hookimpl
    def update_table_schema_metadata(
        self, request: UpdateTableSchemaMetadataRequest
    ) -> UpdateTableSchemaMetadataResponse:
        """Replace the schema's metadata by what is given."""
        dataset = self.open(request)
        with translated(f"update the schema metadata of table {name_of(request)!r}"):
            metadata = dataset.update_schema_metadata(request.metadata or {}, replace=True)
            return UpdateTableSchemaMetadataResponse(metadata=metadata, transaction_id=transaction_id(dataset))

    @hookimpl
    def update_field_metadata(self, request: UpdateFieldMetadataRequest) -> UpdateFieldMetadataResponse:
        """Merge into, or replace, the metadata of fields; a null value removes a key."""
        dataset = self.open(request)
        with translated(f"update field metadata of table {name_of(request)!r}"):
            changes = {entry.path: _metadata_change(dataset, entry) for entry in request.updates}
            if len(changes) != len(request.updates) or not changes:
                raise InvalidInputError(
                    "update_field_metadata needs at least one update, and no more than one for a field"
                )
            dataset.update_field_metadata(changes)
            fields = {path: metadata_at(dataset, path) for path in changes}
        return UpdateFieldMetadataResponse(version=dataset.version, fields=fields)


def _sorted_out(entries: list[AddColumnsEntry]) -> tuple[dict[str, str], dict[str, str]]:
    """The SQL of the new columns by name: those to fill now, and those to declare."""
    if not entries:
        raise InvalidInputError("alter_table_add_columns needs at least one column")
    expressions: dict[str, str] = {}
    computed: dict[str, str] = {}
    for entry in entries:
        if entry.name in expressions.keys() | computed.keys():
            raise InvalidInputError(f"column {entry.name!r} is given twice")
        if entry.virtual_column is not None:
            raise UnsupportedOperationError(
                f"column {entry.name!r}: virtual columns run code of the caller, which this backend does not; "
                "use 'expression' or 'computed'"
            )
        match (entry.expression, entry.computed):
            case (str(sql), None):
                expressions[entry.name] = sql
            case (None, str(sql)):
                computed[entry.name] = sql
            case _:
                raise InvalidInputError(f"column {entry.name!r} needs either 'expression' or 'computed'")
    if expressions and computed:
        raise InvalidInputError(
            "columns with 'expression' and with 'computed' need two requests, as each is one commit"
        )
    return expressions, computed


def _computed_field(dataset: lance.LanceDataset, name: str, sql: str) -> pa.Field:
    """The all-null column of a computed column; its type is what the expression yields on this table."""
    columns = {name: sql, "_rowid": "_rowid"}  # A scan of constants alone is refused.
    kind = dataset.scanner(columns=columns, limit=0).projected_schema.field(name).type
    return pa.field(name, kind, metadata={COMPUTED_KEY: sql})


def _alteration(entry: AlterColumnsEntry) -> dict[str, Any]:
    if entry.virtual_column is not None:
        raise UnsupportedOperationError(f"column {entry.path!r}: this backend has no virtual columns to alter")
    changes = {
        "name": entry.rename,
        "nullable": entry.nullable,
        "data_type": None if entry.data_type is None else type_from_json(entry.data_type),
    }
    given = {key: value for key, value in changes.items() if value is not None}
    if not given:
        raise InvalidInputError(f"column {entry.path!r}: give at least one of 'rename', 'data_type' and 'nullable'")
    return {"path": entry.path, **given}


def _metadata_change(dataset: lance.LanceDataset, entry: UpdateFieldMetadataEntry) -> dict[str, str | None]:
    """Replacing as a merge that removes all other keys, so that replaced and merged fields go into one commit."""
    current = metadata_at(dataset, entry.path)
    return {**dict.fromkeys(current), **entry.metadata} if entry.replace else dict(entry.metadata)

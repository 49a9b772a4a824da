"""What a request says of virtual columns, as fields of a table."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import InvalidInputError

from lancespace.principals import PRINCIPAL
from lancespace.tables.fields import metadata_at
from lancespace.tables.functions import CREATOR_KEY, FUNCTION_KEY, GROUP_KEY, STRUCT_FIELD_KEY, Function
from lancespace.tables.jsonarrow import type_from_json
from lancespace.tables.recipes import group_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import lance
    from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
    from lance_namespace_urllib3_client.models.add_virtual_column_output_entry import AddVirtualColumnOutputEntry
    from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry

_FUNCTION = frozenset(Function.__dataclass_fields__)


def virtual_fields(dataset: lance.LanceDataset, entry: AddColumnsEntry) -> list[pa.Field]:
    """The columns that one function will fill, declared and without values."""
    described = entry.virtual_column
    if described is None or entry.name not in {output.column for output in described.outputs}:
        raise InvalidInputError(f"column {entry.name!r} must be the 'column' of one of its virtual column's 'outputs'")
    function = Function(**described.model_dump(include=set(_FUNCTION)))
    function.check(dataset)
    binding = {**(described.field_metadata or {}), FUNCTION_KEY: function.to_json(), GROUP_KEY: uuid.uuid4().hex}
    creator = _creator()
    if creator is not None:
        binding[CREATOR_KEY] = creator
    return [_field(output, binding) for output in described.outputs]


def altered_metadata(dataset: lance.LanceDataset, entry: AlterColumnsEntry) -> dict[str, dict[str, str | None]]:
    """The new metadata of all columns whose function is replaced; what the entry leaves out stays."""
    function = Function.of(metadata_at(dataset, entry.path))
    if function is None or entry.virtual_column is None:
        raise InvalidInputError(f"column {entry.path!r} is not a virtual column: add one with alter_table_add_columns")
    if entry.rename is not None or entry.data_type is not None or entry.nullable is not None:
        raise InvalidInputError(f"column {entry.path!r}: 'virtual_column' needs a request of its own")
    given = entry.virtual_column.model_dump(exclude_none=True)
    changes = {name: value for name, value in given.items() if name in _FUNCTION}
    if "manifest" in changes or "udf" in changes:  # What was said of the old one does not hold for the new.
        changes = {"manifest": None, "manifest_checksum": None, **changes}
    changed = replace(function, **changes)
    changed.check(dataset)
    metadata: dict[str, str | None] = {
        **(entry.virtual_column.field_metadata or {}),
        FUNCTION_KEY: changed.to_json(),
        CREATOR_KEY: _creator(),
    }
    return {f"`{name}`": metadata for name in group_of(dataset, entry.path)}


def _creator() -> str | None:
    """Who is acting, as the metadata has it."""
    principal = PRINCIPAL.get()
    return None if principal is None else json.dumps(principal._asdict())


def _field(output: AddVirtualColumnOutputEntry, binding: Mapping[str, Any]) -> pa.Field:
    if not output.nullable:
        raise InvalidInputError(
            f"column {output.column!r} has no values before its backfill: make it nullable, and change that afterwards"
        )
    metadata = {**(output.metadata or {}), **binding, STRUCT_FIELD_KEY: output.struct_field}
    return pa.field(output.column, type_from_json(output.data_type), metadata=metadata)

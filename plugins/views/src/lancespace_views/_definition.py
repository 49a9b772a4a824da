"""What a view is, checked: its query, its columns, and the function of a chunker or UDTF."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from lance_namespace import (
    CreateMaterializedViewRequest,
    InvalidInputError,
    InvalidTableStateError,
    MaterializedViewUdtfEntry,
    UnsupportedOperationError,
)

from lancespace_tables import DEFINITION, LARGEST, Function
from lancespace_views._requests import read_envelope, read_query, read_schema

QUERY = "query"
CHUNKER = "chunker"
UDTF = "udtf"

_NOT_KEPT = {"id", "identity", "context", "with_no_data"}


@dataclass(frozen=True)
class Call:
    """The Python function of a view, and how it is called."""

    function: Function
    """Still pickled."""
    input_columns: tuple[str, ...] | None
    """What it reads of the query's columns; None for all."""
    partition_by: str | None
    """The column by whose values a UDTF gets its rows apart."""
    is_batched: bool
    """Whether a chunker gets batches of rows, and not one row at a time."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.function.udf_name


@dataclass(frozen=True)
class Definition:
    """A view, as the request said."""

    kind: str
    sql: str
    schema: pa.Schema
    call: Call | None
    text: str
    """All of it as JSON, for the table's metadata."""

    @property
    def metadata(self) -> dict[str, str]:
        """What is kept in the table's metadata."""
        return {DEFINITION: self.text}


def define(request: CreateMaterializedViewRequest) -> Definition:
    """The definition in a request.

    Raises:
        InvalidInputError: If a field is wrong, or does not go with the kind of view.
        TableSchemaValidationError: If the output schema is none.
    """
    kind = request.kind
    if (request.udtf_spec is None) != (kind == QUERY):
        wanted = "takes no" if kind == QUERY else "needs a"
        raise InvalidInputError(f"A view of kind {kind!r} {wanted} function in 'udtf_spec'.")
    kept = request.model_dump(mode="json", exclude=_NOT_KEPT, exclude_none=True)
    return Definition(
        kind=kind,
        sql=read_query(request.source_query),
        schema=read_schema(request.output_schema),
        call=None if request.udtf_spec is None else _call(kind, request.udtf_spec),
        text=json.dumps(kept, sort_keys=True),
    )


def stored(metadata: Mapping[str, str], name: str) -> Definition:
    """The definition in a table's metadata.

    Raises:
        InvalidTableStateError: If there is none: the view was never finished, or its definition was removed.
    """
    text = metadata.get(DEFINITION)
    if text is None:
        raise InvalidTableStateError(
            f"The view {name!r} has lost its definition, or its creation was interrupted: drop it and create it again."
        )
    try:
        return define(CreateMaterializedViewRequest.model_validate_json(text))
    except (ValueError, InvalidInputError) as error:
        raise InvalidTableStateError(
            f"The definition of the view {name!r} is not what lancespace writes: drop it and create it again."
        ) from error


def _call(kind: str, entry: MaterializedViewUdtfEntry) -> Call:
    if entry.kind != kind:
        raise InvalidInputError(f"udtf_spec.kind is {entry.kind!r} where the view is of kind {kind!r}.")
    _check_fields_of_kind(kind, entry)
    return Call(
        function=Function(
            input_columns=entry.input_columns or [],
            udf=read_envelope("udtf_spec.udtf", _envelope(entry), required=("function",))["function"],
            udf_name=entry.udtf_name,
            udf_version=entry.udtf_version,
            manifest=entry.manifest,
            manifest_checksum=entry.manifest_checksum,
        ),
        input_columns=None if entry.input_columns is None else tuple(entry.input_columns),
        partition_by=entry.partition_by or entry.partition_by_indexed_column,
        is_batched=bool(entry.batch),
    )


def _envelope(entry: MaterializedViewUdtfEntry) -> bytes:
    """The JSON of a function's envelope, with its checksum checked."""
    try:
        envelope = base64.b64decode(entry.udtf, validate=True)
    except ValueError as error:
        raise InvalidInputError("udtf_spec.udtf is not base64.") from error
    found = hashlib.sha256(envelope).hexdigest()
    if found != entry.udtf_sha.lower():
        raise InvalidInputError(f"udtf_spec.udtf has the SHA-256 {found}, not {entry.udtf_sha}: send it again.")
    if len(envelope) > 2 * LARGEST:
        raise InvalidInputError(
            f"udtf_spec.udtf has {len(envelope)} bytes, {2 * LARGEST} are allowed: it is kept in the table's metadata. "
            "Put data that the function needs into a table or a module."
        )
    return envelope


def _check_fields_of_kind(kind: str, entry: MaterializedViewUdtfEntry) -> None:
    given: dict[str, Any] = {name: getattr(entry, name) for name in type(entry).model_fields}
    foreign = ("batch",) if kind == UDTF else ("partition_by", "partition_by_indexed_column", "error_handling")
    for name in foreign:
        if given[name] is not None:
            raise InvalidInputError(f"udtf_spec.{name} does not go with a view of kind {kind!r}.")
    if given["partition_by"] is not None and given["partition_by_indexed_column"] is not None:
        raise InvalidInputError("udtf_spec: give 'partition_by' or 'partition_by_indexed_column', not both.")
    if given["error_handling"] is not None:
        raise UnsupportedOperationError(
            "udtf_spec.error_handling is not supported: a function that raises fails the refresh, and the view stays."
        )
    if kind == CHUNKER and given["input_columns"] is None:
        raise InvalidInputError("udtf_spec.input_columns: a chunker must name the columns that it reads.")

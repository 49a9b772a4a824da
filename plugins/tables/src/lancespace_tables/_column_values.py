"""How the values of a column that a backfill fills are made, from SQL or by a function, and written.

They go to files of their own, beside the other files of a fragment. ``LanceFragment.update_columns`` joins new values
to rows, which is what it takes if only some rows get one. That join takes twenty times as long as to write the values.
If all rows get one, they are written as the values of a new column, and then said to be those of the old one. Tables
with stable row ids note when each row was changed, which only the join does.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import InvalidInputError, InvalidTableStateError

from lancespace.authoring import Principal, aligned
from lancespace_tables._expressions import shallow
from lancespace_tables._fields import field_at, metadata_at
from lancespace_tables._virtual_columns import CREATOR_KEY, STRUCT_FIELD_KEY, Function, group_of

COMPUTED_KEY = "computed_column.expression"
"""Field metadata of a computed column: the SQL expression that a backfill evaluates."""
ROW = "_rowaddr"
"""By which Lance finds the row of a value; its lower half counts the rows of a fragment."""
OFFSET = 0xFFFFFFFF
"""The part of a row address that is the place in its fragment."""


Scan = Callable[[Any], Iterable[pa.RecordBatch]]
"""Reads columns of the rows to fill, by path, or by name and SQL expression."""


@dataclass(frozen=True)
class SqlRecipe:
    """A computed column."""

    column: str
    sql: str

    @property
    def columns(self) -> tuple[str, ...]:
        """What it fills."""
        return (self.column,)

    def identity(self) -> Any:
        """What makes a value, as JSON."""
        return self.sql

    def values(self, scan: Scan, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows with their new values."""
        schema = pa.schema([pa.field(ROW, pa.uint64()), types.field(self.column)])
        for batch in scan({ROW: ROW, self.column: self.sql}):
            yield batch.cast(schema)


@dataclass(frozen=True)
class FunctionRecipe:
    """A virtual column, or several that one function fills."""

    fields: tuple[tuple[str, str], ...]
    """Each column, and which field of the function's answer it takes."""
    function: Function
    creator: Principal | None = None
    """Who has sent the function, and with whose rights it runs."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What it fills."""
        return tuple(column for column, _ in self.fields)

    def identity(self) -> Any:
        """What makes a value, as JSON."""
        return [self.fields, self.function.to_json()]

    def values(self, scan: Scan, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows with their new values."""
        function = self.function.load()
        schema = pa.schema([pa.field(ROW, pa.uint64()), *(types.field(column) for column in self.columns)])
        for batch in scan([*self.function.input_columns, ROW]):
            if batch.num_rows:
                arrays = self._arrays(function, batch, types)
                yield pa.RecordBatch.from_arrays([batch.column(ROW), *arrays], schema=schema)

    def _arrays(self, function: Callable[..., Any], batch: pa.RecordBatch, types: pa.Schema) -> list[Any]:
        try:
            answer = function(batch.select(self.function.input_columns))
            alone = len(self.fields) == 1
            return [
                _values(answer, field, types.field(column).type, batch.num_rows, alone=alone)
                for column, field in self.fields
            ]
        except Exception as error:
            first, last = (batch.column(ROW)[at].as_py() for at in (0, -1))
            raise InvalidInputError(
                f"the function {self.function.udf_name!r} failed on rows {first & OFFSET} to {last & OFFSET} of "
                f"fragment {first >> 32}: {type(error).__name__}: {error}"
            ) from error


Recipe = SqlRecipe | FunctionRecipe


def recipe_for(dataset: lance.LanceDataset, path: str) -> Recipe | None:
    """How a column is filled; None if it is neither a computed nor a virtual one."""
    metadata = metadata_at(dataset, path)
    if COMPUTED_KEY in metadata:
        return SqlRecipe(field_at(dataset, path).name, shallow(metadata[COMPUTED_KEY]))
    function = Function.of(metadata)
    if function is None:
        return None
    group = group_of(dataset, path)
    return FunctionRecipe(
        tuple((name, group[name].get(STRUCT_FIELD_KEY, "")) for name in group), function, _creator_of(group)
    )


def _creator_of(group: Mapping[str, Mapping[str, str]]) -> Principal | None:
    """Who has sent the function of some columns; None if that is not known of all of them, or not the same."""
    try:
        creators = {Principal.of(json.loads(metadata.get(CREATOR_KEY, "null"))) for metadata in group.values()}
    except (ValueError, LookupError, TypeError) as error:
        raise InvalidTableStateError(
            f"the metadata key {CREATOR_KEY!r} is not what lancespace writes: drop the column and add it again"
        ) from error
    return creators.pop() if len(creators) == 1 else None


def _values(answer: Any, field: str, wanted: pa.DataType, count: int, *, alone: bool) -> pa.Array:
    """The values for one column in what a function answered."""
    array = answer.combine_chunks() if isinstance(answer, pa.ChunkedArray) else answer
    if not isinstance(array, pa.Array):
        raise TypeError(f"it must answer a pyarrow array, not {type(answer).__name__}")
    if len(array) != count:
        raise ValueError(f"it answered {len(array)} values for {count} rows")
    if alone and (array.type == wanted or not pa.types.is_struct(array.type)):
        return array.cast(wanted)
    if not pa.types.is_struct(array.type) or array.type.get_field_index(field) < 0:
        raise TypeError(f"it must answer a struct array with the field {field!r}, not {array.type}")
    return pc.struct_field(array, field).cast(wanted)


_GONE = -2
"""What a file calls a field whose values are in another file now."""


def write_values(
    dataset: lance.LanceDataset,
    fragment: lance.LanceFragment,
    columns: Sequence[str],
    batches: Iterable[pa.RecordBatch],
) -> dict[str, Any]:
    """Write new values of columns by row address, and say where they are; rows that have none keep what they had."""
    rows = list(aligned(batches))
    count = sum(batch.num_rows for batch in rows)
    if count == 0:
        return {"rows": 0}
    is_whole = _is_whole(fragment, rows) and not dataset.has_stable_row_ids
    return {"rows": count, **(_whole(dataset, fragment, columns, rows) if is_whole else _some(fragment, rows))}


def _is_whole(fragment: lance.LanceFragment, rows: list[pa.RecordBatch]) -> bool:
    """Whether every row of a fragment is there, each in its place and none of them deleted."""
    places = np.concatenate([np.asarray(batch.column(ROW)) for batch in rows]) & OFFSET
    return np.array_equal(places, np.arange(fragment.physical_rows, dtype=np.uint64))


def _some(fragment: lance.LanceFragment, rows: list[pa.RecordBatch]) -> dict[str, Any]:
    written, fields, offsets = fragment.update_columns(pa.Table.from_batches(rows), left_on=ROW, with_offsets=True)
    return {"fragment": written.to_json(), "fields": fields, "offsets": base64.b64encode(offsets).decode()}


def _whole(
    dataset: lance.LanceDataset, fragment: lance.LanceFragment, columns: Sequence[str], rows: list[pa.RecordBatch]
) -> dict[str, Any]:
    names = {column: f"{column}-{uuid.uuid4().hex}" for column in columns}
    schema = pa.schema([_renamed(dataset.schema.field(column), name) for column, name in names.items()])
    values = (pa.RecordBatch.from_arrays([batch.column(one) for one in columns], schema=schema) for batch in rows)
    before = {file.path for file in fragment.metadata.files}
    written, merged = fragment.merge_columns(pa.RecordBatchReader.from_batches(schema, values))
    old = field_ids(dataset.lance_schema, columns)
    old_of_new = dict(zip(field_ids(merged, list(names.values())), old, strict=True))
    described = written.to_json()
    for file in described["files"]:
        if file["path"] in before:
            file["fields"] = [_GONE if number in old else number for number in file["fields"]]
        else:
            file["fields"] = [old_of_new[number] for number in file["fields"]]
    described["files"] = [file for file in described["files"] if set(file["fields"]) != {_GONE}]
    return {"fragment": described, "fields": old}


def offsets_of(results: Mapping[int, Mapping[str, Any]]) -> dict[int, bytes] | None:
    """Which rows of each fragment were written, for Lance to note; None if it notes nothing by row."""
    known = {number: base64.b64decode(one["offsets"]) for number, one in results.items() if "offsets" in one}
    return known or None


def field_ids(schema: Any, columns: Sequence[str]) -> list[int]:
    """The ids of columns and of all that is in them, which is how files name what they hold; parents come first."""
    fields = {field.name(): field for field in schema.fields()}
    return [number for column in columns for number in _ids(fields[column])]


def _renamed(field: pa.Field, name: str) -> pa.Field:
    """The field of the new column, with what Lance has to know of its values."""
    own = {key: value for key, value in (field.metadata or {}).items() if key.startswith(b"lance")}
    return field.with_name(name).with_metadata(own)


def _ids(field: Any) -> Iterator[int]:
    yield field.id()
    for child in field.children():
        yield from _ids(child)

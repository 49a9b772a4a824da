"""How the values of a column that a backfill fills are made: from SQL, or by a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import InvalidInputError, InvalidTableStateError

from lancespace.expressions import shallow
from lancespace.principals import Principal
from lancespace.tables.fields import decoded, field_at, metadata_at
from lancespace.tables.functions import CREATOR_KEY, GROUP_KEY, STRUCT_FIELD_KEY, Function

if TYPE_CHECKING:
    import lance

COMPUTED_KEY = "computed_column.expression"
"""Field metadata of a computed column: the SQL expression that a backfill evaluates."""
ROW = "_rowaddr"
"""By which Lance finds the row of a value; its lower half counts the rows of a fragment."""
OFFSET = 0xFFFFFFFF
"""The part of a row address that is the place in its fragment."""


@dataclass(frozen=True)
class Scan:
    """The rows of a fragment that are to be filled."""

    fragment: lance.LanceFragment
    where: str | None
    batch_size: int | None

    def batches(self, columns: Any) -> Iterator[pa.RecordBatch]:
        """Their columns, by path, or by name and SQL expression."""
        options = {} if self.batch_size is None else {"batch_size": self.batch_size}
        yield from self.fragment.scanner(columns=columns, filter=self.where, **options).to_reader()


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
        for batch in scan.batches({ROW: ROW, self.column: self.sql}):
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
        for batch in scan.batches([*self.function.input_columns, ROW]):
            if batch.num_rows:
                arrays = self._arrays(function, batch, types, scan.fragment.fragment_id)
                yield pa.RecordBatch.from_arrays([batch.column(ROW), *arrays], schema=schema)

    def _arrays(self, function: Callable[..., Any], batch: pa.RecordBatch, types: pa.Schema, place: int) -> list[Any]:
        try:
            answer = function(batch.select(self.function.input_columns))
            alone = len(self.fields) == 1
            return [
                _values(answer, field, types.field(column).type, batch.num_rows, alone=alone)
                for column, field in self.fields
            ]
        except Exception as error:
            first, last = (batch.column(ROW)[at].as_py() & OFFSET for at in (0, -1))
            raise InvalidInputError(
                f"the function {self.function.udf_name!r} failed on rows {first} to {last} of fragment {place}: "
                f"{type(error).__name__}: {error}"
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


def group_of(dataset: lance.LanceDataset, path: str) -> dict[str, dict[str, str]]:
    """The virtual columns that are filled together with this one, itself included, and their metadata."""
    wanted = metadata_at(dataset, path).get(GROUP_KEY)
    every = {field.name: decoded(field) for field in dataset.schema}
    return {name: metadata for name, metadata in every.items() if metadata.get(GROUP_KEY) == wanted}


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

"""New values of columns that a table has, written to files of their own beside the other files of a fragment.

``LanceFragment.update_columns`` joins new values to rows, which is what it takes if only some rows get one. That join
takes twenty times as long as to write the values. If all rows get one, they are written as the values of a new column,
and then said to be those of the old one. Tables with stable row ids note when each row was changed, which only the join
does.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lancespace.alignment import aligned
from lancespace.tables.recipes import OFFSET, ROW

if TYPE_CHECKING:
    import lance

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

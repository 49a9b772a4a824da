"""The columns of an import: those of a new table, and each file's rows in the table's types."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace.errors import translated
from lancespace.jobs import partitions
from lancespace.jobs.files import TEXT, SourceFile

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace.engines import Work


def of_new_table(found: Sequence[SourceFile], work: Work) -> pa.Schema:
    """The columns of the first file and of its folders, or of the Delta table that it is of.

    Text tells no types. So the beginning of every file of text is looked at, and a column is as wide as all need.
    """
    import pyarrow as pa

    first = found[0]
    if first.schema is not None:
        return pa.ipc.read_schema(pa.py_buffer(first.schema))
    with translated(f"import {first.path}"):
        schema = first.dataset().schema
    texts = [one for one in found if one.format in TEXT]
    looked = work.map(look, texts, key=lambda one: f"columns of {one.path} {one.stamp}")
    others = [_unpacked(text) for _, text in looked]
    fields = [field.with_type(_widest(field.name, [schema, *others])) for field in schema] if texts else list(schema)
    named = partitions.types(one.values for one in found)
    kept = [field for field in fields if field.name not in named]
    return pa.schema([*kept, *(pa.field(*pair) for pair in named.items())], metadata=schema.metadata)


def look(source: SourceFile) -> str:
    """The columns of a file of text, by its beginning; runs wherever the engine computes."""
    with translated(f"import {source.path}"):
        return base64.b64encode(source.dataset().schema.serialize().to_pybytes()).decode()


def rows(source: SourceFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The file's rows in the table's columns."""
    import pyarrow as pa

    values = dict(source.values)
    dataset = source.dataset()
    if source.format in TEXT:
        dataset = source.dataset(_parsed_as(source.format, dataset.schema, schema))
    _check(source.path, [*dataset.schema.names, *values], schema)
    shared = [name for name in schema.names if name in dataset.schema.names and name not in values]

    def column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name in shared:
            return batch.column(field.name).cast(field.type)
        return partitions.column(values.get(field.name), field.type, batch.num_rows)

    for batch in dataset.to_batches(columns=shared):
        yield pa.RecordBatch.from_arrays([column(batch, field) for field in schema], schema=schema)


def _widest(name: str, schemas: Sequence[pa.Schema]) -> pa.DataType:
    """The type that holds a column of all files; what is empty everywhere is text."""
    import pyarrow as pa

    types = {schema.field(name).type for schema in schemas if name in schema.names} - {pa.null()}
    if not types:
        return pa.string()
    try:
        alone = [pa.schema([(name, one)]) for one in types]
        return pa.unify_schemas(alone, promote_options="permissive").field(name).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        if any(pa.types.is_nested(one) for one in types):
            raise InvalidInputError(
                f"the column {name} is of the types {', '.join(sorted(map(str, types)))} in different files: "
                "create the table with the type that it is to have, and import into it"
            ) from None
        return pa.string()


def _parsed_as(format_: str, found: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """The types in which text is read: those of the table, as 007 that was read as a number is lost for a text."""
    import pyarrow as pa

    def choose(field: pa.Field) -> pa.DataType:
        type_ = wanted.field(field.name).type if field.name in wanted.names else field.type
        is_number_as_text = format_ == "json" and pa.types.is_string(type_) and not pa.types.is_null(field.type)
        return type_ if _is_plain(type_) and not is_number_as_text else field.type

    return pa.schema([field.with_type(choose(field)) for field in found])


def _is_plain(type_: pa.DataType) -> bool:
    """Whether Arrow makes it of text; the others are cast from what it finds."""
    import pyarrow as pa

    known = (
        pa.types.is_integer,
        pa.types.is_float32,
        pa.types.is_float64,
        pa.types.is_boolean,
        pa.types.is_string,
        pa.types.is_date,
        pa.types.is_decimal128,
    )
    is_local_time = pa.types.is_timestamp(type_) and type_.tz is None
    return is_local_time or any(is_type(type_) for is_type in known)


def _unpacked(text: str) -> pa.Schema:
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _check(path: str, given: Sequence[str], wanted: pa.Schema) -> None:
    missing = [field.name for field in wanted if field.name not in given and not field.nullable]
    if missing:
        raise InvalidInputError(f"{path} lacks the column {', '.join(missing)}, which must not be null")
    if unknown := [name for name in given if name not in wanted.names]:
        raise InvalidInputError(
            f"{path} has the column {', '.join(unknown)}, which the table lacks: add it first "
            "(alter_table_add_columns), or import a file without it"
        )

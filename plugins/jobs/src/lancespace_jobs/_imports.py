"""Importing files: Parquet, CSV, JSON lines and Arrow, single ones or folders."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import lance
import pyarrow as pa
from lance_namespace import InvalidInputError

from lancespace import Namespace
from lancespace.authoring import Identifier, Job, Work, fingerprint, public, translated
from lancespace_jobs._import_files import TEXT, SourceFile, find, partition_column, partition_types
from lancespace_jobs._ingest import check_ingest_mode, ingest, is_ingested
from lancespace_jobs._stages import Stage
from lancespace_jobs._submitted import SubmittedJob, submit
from lancespace_jobs._table_spec import TableSpec
from lancespace_jobs._written import Written, map_rows
from lancespace_tables import in_rounds


@dataclass(frozen=True)
class _File:
    """One file on its way into a table."""

    source: SourceFile
    schema: bytes
    """The table's, as Arrow has it; a file's columns are cast to it by name."""
    stage: Stage


@public
def import_files(
    namespace: Namespace,
    table: Identifier,
    files: str | Sequence[str],
    *,
    format: str | None = None,  # noqa: A002 - what everybody calls it
    mode: str = "append",
) -> SubmittedJob:
    """Import files or whole folders into a table, in one commit; a table that is not there is created.

    ``files`` are paths or URLs that fsspec knows. A folder's files are all that its format names, and of a Delta table
    those of its latest version; folders below it like ``day=2024-01-31`` are columns, too. The columns of a new table
    are those of the first file, in types that hold those of all files of text, or those of the Delta table. Others may
    lack columns that may be null; a column that the table lacks is an error.
    The name of a new table is reserved first: an import that fails or is cancelled leaves it declared, and a repeat
    goes on from the files that were done.

    Raises:
        InvalidInputError: If there is no such file, or its format is not known.
    """
    check_ingest_mode(mode)
    found = find([files] if isinstance(files, str) else files, format)
    handle = TableSpec.of(namespace, table)
    mark = fingerprint("import", namespace.namespace_id(), handle.id, [one.path for one in found], mode)
    return submit(namespace, Job("import", handle.name, lambda work: _run(handle, found, mode, work), mark))


def import_file(task: _File) -> Written:
    """Write the rows of a file; runs wherever the engine computes."""
    schema = pa.ipc.read_schema(pa.py_buffer(task.schema))
    with translated(f"import {task.source.path}"):
        return task.stage.write(_rows(task.source, schema), schema)


def _run(handle: TableSpec, found: list[SourceFile], mode: str, work: Work) -> None:
    rounds = itertools.count()

    def attempt() -> None:
        is_repeat = next(rounds) > 0 or work.is_repeat
        left = _missing(handle, found, mode, work.mark) if is_repeat else found
        if left:
            _round(handle, left, mode, work)

    in_rounds(f"table {handle.name!r}", work, attempt)


def _round(handle: TableSpec, found: list[SourceFile], mode: str, work: Work) -> None:
    """If others are in the way of its commit, files that still fit the table are not read again."""

    def columns_of(existing: lance.LanceDataset | None) -> pa.Schema:
        return _columns_of_new_table(found, work) if existing is None else existing.schema

    def write(stage: Stage, schema: pa.Schema, shape: str) -> list[Written]:
        packed = schema.serialize().to_pybytes()
        tasks = [_File(one, packed, stage) for one in found]
        written = map_rows(
            work,
            import_file,
            tasks,
            f"importing {len(tasks)} files",
            key=lambda task: fingerprint(_key(task.source), shape),
            is_there=stage.has,
        )
        return [result for _, result in written]

    ingest(handle, mode, work.mark, map(_key, found), columns=columns_of, write=write)


def _missing(handle: TableSpec, found: list[SourceFile], mode: str, mark: str) -> list[SourceFile]:
    """The files that an earlier attempt, which died before it could say so, has not committed."""
    done = is_ingested(handle, mark, map(_key, found))
    if mode == "overwrite" and not all(done.values()):
        return found
    return [one for one in found if not done[_key(one)]]


def _key(source: SourceFile) -> str:
    """A file that was changed since is another one."""
    return fingerprint(source.path, source.stamp)


def _columns_of_new_table(found: Sequence[SourceFile], work: Work) -> pa.Schema:
    """The columns of the first file and of its folders, or of the Delta table that it is of.

    Text tells no types. So the beginning of every file of text is looked at, and a column is as wide as all need.
    """
    first = found[0]
    if first.schema is not None:
        return pa.ipc.read_schema(pa.py_buffer(first.schema))
    with translated(f"import {first.path}"):
        schema = first.dataset().schema
    texts = [one for one in found if one.format in TEXT]
    looked = work.map(look, texts, key=lambda one: f"columns of {one.path} {one.stamp}")
    others = [_unpacked(text) for _, text in looked]
    fields = [field.with_type(_widest(field.name, [schema, *others])) for field in schema] if texts else list(schema)
    named = partition_types(one.values for one in found)
    kept = [field for field in fields if field.name not in named]
    return pa.schema([*kept, *(pa.field(*pair) for pair in named.items())], metadata=schema.metadata)


def look(source: SourceFile) -> str:
    """The columns of a file of text, by its beginning; runs wherever the engine computes."""
    with translated(f"import {source.path}"):
        return base64.b64encode(source.dataset().schema.serialize().to_pybytes()).decode()


def _rows(source: SourceFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The file's rows in the table's columns."""
    values = dict(source.values)
    dataset = source.dataset()
    if source.format in TEXT:
        dataset = source.dataset(_parsed_as(source.format, dataset.schema, schema))
    _check(source.path, [*dataset.schema.names, *values], schema)
    shared = [name for name in schema.names if name in dataset.schema.names and name not in values]

    def column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name in shared:
            return batch.column(field.name).cast(field.type)
        return partition_column(values.get(field.name), field.type, batch.num_rows)

    for batch in dataset.to_batches(columns=shared):
        yield pa.RecordBatch.from_arrays([column(batch, field) for field in schema], schema=schema)


def _widest(name: str, schemas: Sequence[pa.Schema]) -> pa.DataType:
    """The type that holds a column of all files; what is empty everywhere is text."""
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

    def choose(field: pa.Field) -> pa.DataType:
        type_ = wanted.field(field.name).type if field.name in wanted.names else field.type
        is_number_as_text = format_ == "json" and pa.types.is_string(type_) and not pa.types.is_null(field.type)
        return type_ if _is_plain(type_) and not is_number_as_text else field.type

    return pa.schema([field.with_type(choose(field)) for field in found])


def _is_plain(type_: pa.DataType) -> bool:
    """Whether Arrow makes it of text; the others are cast from what it finds."""
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

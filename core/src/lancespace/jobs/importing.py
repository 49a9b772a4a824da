"""Importing files: Parquet, CSV, JSON lines and Arrow, single ones or folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace.engines import Job, fingerprint
from lancespace.errors import translated
from lancespace.handles import TableHandle
from lancespace.jobs.files import SourceFile, find
from lancespace.jobs.stages import Stage, Written, declare
from lancespace.jobs.submitted import SubmittedJob, submit

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace

MODES = ("append", "overwrite")


@dataclass(frozen=True)
class _File:
    """One file on its way into a table."""

    source: SourceFile
    schema: bytes
    """The table's, as Arrow has it; a file's columns are cast to it by name."""
    stage: Stage


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
    those of its latest version; names of folders like ``day=2024-01-31`` are columns, too. The columns of a new table
    are those of the first file. Others may lack columns that may be null; a column that the table lacks is an error.
    The name of a new table is reserved first: an import that fails or is cancelled leaves it declared, and a repeat
    goes on from the files that were done.

    Raises:
        InvalidInputError: If there is no such file, or its format is not known.
    """
    if mode not in MODES:
        raise InvalidInputError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    found = find([files] if isinstance(files, str) else files, format)
    handle = TableHandle.of(namespace, table)
    mark = fingerprint("import", namespace.namespace_id(), handle.id, [one.path for one in found], mode)
    return submit(namespace, Job("import", handle.name, lambda work: _run(handle, found, mode, work), mark))


def import_file(task: _File) -> Written:
    """Write the rows of a file; runs wherever the engine computes."""
    import pyarrow as pa

    schema = pa.ipc.read_schema(pa.py_buffer(task.schema))
    with translated(f"import {task.source.path}"):
        return task.stage.write(_rows(task, schema), schema)


def _run(handle: TableHandle, found: list[SourceFile], mode: str, work: Work) -> None:
    existing = handle.latest()
    with translated(f"import {found[0].path}"):
        schema = found[0].dataset().schema if existing is None or mode == "overwrite" else existing.schema
    if existing is None:
        declare(handle)
    stage = _stage(handle, f"{work.mark}-{_shape(existing, schema)}", mode if existing is not None else "create")
    packed = schema.serialize().to_pybytes()
    tasks = [_File(one, packed, stage) for one in found]
    work.report(0.0, f"importing {len(tasks)} files", 0)
    results, rows = [], 0
    for _, written in work.map(import_file, tasks, key=_key, is_there=stage.has):
        results.append(written)
        rows += written["rows"]
        work.report(len(results) / len(tasks), f"importing {len(tasks)} files", rows)
    fragments = stage.publish(results)
    with translated(f"import into table {handle.name!r}"):
        if not stage.is_committed(fragments):
            stage.commit(schema, fragments, None if existing is None else existing.version)
    stage.discard(fragments)


def _stage(handle: TableHandle, name: str, mode: str) -> Stage:
    stage = Stage(handle, name, mode)
    stage.prepare()
    return stage


def _shape(existing: lance.LanceDataset | None, schema: pa.Schema) -> str:
    """A digest of the columns: files of an earlier attempt are of use as long as the table has the same."""
    from lance.schema import LanceSchema

    columns = LanceSchema.from_pyarrow(schema) if existing is None else existing.lance_schema
    return fingerprint([field.id() for field in columns.fields()], str(schema.remove_metadata()))


def _key(task: _File) -> str:
    """A file that was changed since a failed import is imported anew."""
    return fingerprint(task.source.path, task.source.size)


def _rows(task: _File, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The file's rows in the table's columns."""
    import pyarrow as pa

    source = task.source.dataset()
    _check_columns(task.source.path, source.schema, schema)
    shared = [name for name in schema.names if name in source.schema.names]
    for batch in source.to_batches(columns=shared):
        columns = [
            batch.column(field.name).cast(field.type) if field.name in shared else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _check_columns(path: str, given: pa.Schema, wanted: pa.Schema) -> None:
    missing = [field.name for field in wanted if field.name not in given.names and not field.nullable]
    if missing:
        raise InvalidInputError(f"{path} lacks the column {', '.join(missing)}, which must not be null")
    if unknown := [name for name in given.names if name not in wanted.names]:
        raise InvalidInputError(
            f"{path} has the column {', '.join(unknown)}, which the table lacks: add it first "
            "(alter_table_add_columns), or import a file without it"
        )

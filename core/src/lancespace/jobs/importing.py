"""Importing files: Parquet, CSV, JSON lines and Arrow, single ones or folders."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace.engines import Job, fingerprint
from lancespace.errors import public, translated
from lancespace.handles import TableHandle
from lancespace.jobs import columns, landing
from lancespace.jobs.files import SourceFile, find
from lancespace.jobs.rounds import in_rounds
from lancespace.jobs.stages import Stage
from lancespace.jobs.submitted import SubmittedJob, submit
from lancespace.jobs.written import Written

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace


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
    landing.check_mode(mode)
    found = find([files] if isinstance(files, str) else files, format)
    handle = TableHandle.of(namespace, table)
    mark = fingerprint("import", namespace.namespace_id(), handle.id, [one.path for one in found], mode)
    return submit(namespace, Job("import", handle.name, lambda work: _run(handle, found, mode, work), mark))


def import_file(task: _File) -> Written:
    """Write the rows of a file; runs wherever the engine computes."""
    import pyarrow as pa

    schema = pa.ipc.read_schema(pa.py_buffer(task.schema))
    with translated(f"import {task.source.path}"):
        return task.stage.write(columns.rows(task.source, schema), schema)


def _run(handle: TableHandle, found: list[SourceFile], mode: str, work: Work) -> None:
    rounds = itertools.count()

    def attempt() -> None:
        is_repeat = next(rounds) > 0 or work.is_repeat
        left = _missing(handle, found, mode, work.mark) if is_repeat else found
        if left:
            _round(handle, left, mode, work)

    in_rounds(f"table {handle.name!r}", work, attempt)


def _round(handle: TableHandle, found: list[SourceFile], mode: str, work: Work) -> None:
    """If others are in the way of its commit, files that still fit the table are not read again."""

    def columns_of(existing: lance.LanceDataset | None) -> pa.Schema:
        return columns.of_new_table(found, work) if existing is None else existing.schema

    def write(stage: Stage, schema: pa.Schema, shape: str) -> list[Written]:
        packed = schema.serialize().to_pybytes()
        return _written([_File(one, packed, stage) for one in found], shape, work)

    landing.land(handle, mode, work.mark, map(_key, found), columns=columns_of, write=write)


def _missing(handle: TableHandle, found: list[SourceFile], mode: str, mark: str) -> list[SourceFile]:
    """The files that an earlier attempt, which died before it could say so, has not committed."""
    done = landing.landed(handle, mark, map(_key, found))
    if mode == "overwrite" and not all(done.values()):
        return found
    return [one for one in found if not done[_key(one)]]


def _written(tasks: list[_File], shape: str, work: Work) -> list[Written]:
    results: list[Written] = []
    rows = 0
    work.report(0.0, f"importing {len(tasks)} files", 0)
    is_there = tasks[0].stage.has
    for _, written in work.map(
        import_file, tasks, key=lambda task: fingerprint(_key(task.source), shape), is_there=is_there
    ):
        results.append(written)
        rows += written["rows"]
        work.report(len(results) / len(tasks), f"importing {len(tasks)} files", rows)
    return results


def _key(source: SourceFile) -> str:
    """A file that was changed since is another one."""
    return fingerprint(source.path, source.stamp)

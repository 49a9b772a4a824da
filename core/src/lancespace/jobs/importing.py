"""Importing files: Parquet, CSV, JSON lines and Arrow, single ones or folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.engines import Job, fingerprint
from lancespace.errors import translated
from lancespace.handles import TableHandle
from lancespace.jobs.stages import Stage, Written, declare
from lancespace.jobs.submitted import SubmittedJob, submit

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "ipc",
    ".feather": "feather",
}
"""What files are, by the end of their names."""
MODES = ("append", "overwrite")


@dataclass(frozen=True)
class _File:
    """One file on its way into a table."""

    path: str
    format: str
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

    ``files`` are paths or URLs that fsspec knows. A folder's files are all that its format names. The columns of a new
    table are those of the first file; all others must have them too.

    Raises:
        InvalidInputError: If there is no such file, or its format is not known.
    """
    if mode not in MODES:
        raise InvalidInputError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    found = _found([files] if isinstance(files, str) else files, format)
    handle = TableHandle.of(namespace, table)
    mark = fingerprint("import", handle.name, str(namespace.namespace_id()), found, mode)
    return submit(namespace, Job("import", handle.name, lambda work: _run(handle, found, mode, mark, work), mark))


def import_file(task: _File) -> Written:
    """Write the rows of a file; runs wherever the engine computes."""
    import pyarrow as pa

    schema = pa.ipc.read_schema(pa.py_buffer(task.schema))
    with translated(f"import {task.path}"):
        return task.stage.write(_rows(task, schema), schema)


def _run(handle: TableHandle, found: list[tuple[str, str]], mode: str, mark: str, work: Work) -> None:
    existing = handle.latest()
    with translated(f"import {found[0][0]}"):
        schema = _dataset(*found[0]).schema if existing is None or mode == "overwrite" else existing.schema
    if existing is None:
        declare(handle)
    stage = Stage(handle, mark, "create" if existing is None else mode)
    stage.prepare()
    packed = schema.serialize().to_pybytes()
    tasks = [_File(path, kind, packed, stage) for path, kind in found]
    work.report(0.0, f"importing {len(tasks)} files", 0)
    results, rows = [], 0
    for _, written in work.map(import_file, tasks, key=lambda task: task.path):
        results.append(written)
        rows += written["rows"]
        work.report(len(results) / len(tasks), f"importing {len(tasks)} files", rows)
    fragments = stage.publish(results)
    with translated(f"import into table {handle.name!r}"):
        stage.commit(schema, fragments, None if existing is None else existing.version)
    stage.discard(fragments)


def _rows(task: _File, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The file's rows in the table's columns."""
    import pyarrow as pa

    source = _dataset(task.path, task.format)
    missing = [field.name for field in schema if field.name not in source.schema.names and not field.nullable]
    if missing:
        raise InvalidInputError(f"{task.path} lacks the column {', '.join(missing)}, which must not be null")
    shared = [name for name in schema.names if name in source.schema.names]
    for batch in source.to_batches(columns=shared):
        columns = [
            batch.column(field.name).cast(field.type) if field.name in shared else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _dataset(path: str, kind: str) -> Any:
    import fsspec
    import pyarrow.dataset as pads

    filesystem, inside = fsspec.core.url_to_fs(path)
    return pads.dataset(inside, format=kind, filesystem=filesystem)


def _found(files: Sequence[str], wanted: str | None) -> list[tuple[str, str]]:
    """All files below what is given, sorted, each with its format."""
    import fsspec

    known = frozenset(FORMATS.values())
    if wanted is not None and wanted not in known:
        raise InvalidInputError(f"format must be one of {', '.join(sorted(known))}, not {wanted!r}")
    found = []
    for given in files:
        filesystem, path = fsspec.core.url_to_fs(given)
        inside = [filesystem.unstrip_protocol(one) for one in sorted(filesystem.find(path))]
        named = [(one, wanted or _format(one)) for one in inside if not _is_hidden(one)]
        found += [(one, kind) for one, kind in named if kind is not None]
    if not found:
        raise InvalidInputError(
            f"there is nothing to import in {', '.join(files)}: files must end in {', '.join(FORMATS)}, "
            "or their format be given"
        )
    return found


def _format(path: str) -> str | None:
    return next((kind for suffix, kind in FORMATS.items() if path.lower().endswith(suffix)), None)


def _is_hidden(path: str) -> bool:
    """Whether it is a mark or a log of another tool, as Spark and Delta leave beside their files."""
    return any(part.startswith(("_", ".")) for part in path.partition("://")[2].split("/")[-2:])

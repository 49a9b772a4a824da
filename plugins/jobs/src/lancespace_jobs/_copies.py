"""Copying a table into another namespace, on the same store or across clouds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from lance.fragment import FragmentMetadata

from lancespace import Namespace
from lancespace.authoring import Identifier, Job, Work, fingerprint, public, table_exists, translated
from lancespace_jobs._stages import Stage, declare
from lancespace_jobs._submitted import SubmittedJob, submit
from lancespace_jobs._table_spec import TableSpec
from lancespace_jobs._written import Written, map_rows, refuse_blobs
from lancespace_tables import in_rounds


@dataclass(frozen=True)
class _Piece:
    """A fragment on its way."""

    source: TableSpec
    version: int
    fragment: int
    files: tuple[str, ...]
    """What it consists of: another table of the same name has fragments of the same numbers."""
    stage: Stage


@public
def copy_table(
    namespace: Namespace,
    table: Identifier,
    target: Namespace,
    to: Identifier,
    *,
    version: int | None = None,
) -> SubmittedJob:
    """Copy one version of a table, by default the latest, as a new table; the target must not have it yet.

    Rows and schema are copied, fragment by fragment; versions, tags and indexes are not. The copy appears whole.

    Raises:
        TableAlreadyExistsError: If the target has a table of that name with data.
        UnsupportedOperationError: If the table has blobs.
    """
    source = TableSpec.of(namespace, table)
    copy = TableSpec.of(target, to)
    _refuse_existing(copy)
    dataset = source.open(version)
    refuse_blobs(
        dataset.schema, f"copy table {source.name!r}", "read them with take_blobs, and write them to a new table"
    )
    chosen: int = dataset.version
    mark = fingerprint(
        "copy", source.name, str(namespace.namespace_id()), chosen, str(target.namespace_id()), copy.name
    )
    return submit(namespace, Job("copy", copy.name, lambda work: _run(source, chosen, copy, work), mark))


def copy_fragment(task: _Piece) -> Written:
    """Copy the rows of a fragment; runs wherever the engine computes."""
    dataset = task.source.open(task.version)

    def rows() -> Iterator[pa.RecordBatch]:
        yield from dataset.get_fragment(task.fragment).to_batches()

    with translated(f"copy to table {task.stage.handle.name!r}"):
        return task.stage.write(rows(), dataset.schema)


def _run(source: TableSpec, version: int, copy: TableSpec, work: Work) -> None:
    dataset = source.open(version)
    declare(copy)
    stage = Stage(copy, work.mark, "create")
    stage.prepare()
    tasks = [_Piece(source, version, one.fragment_id, _files(one), stage) for one in dataset.get_fragments()]
    copied = map_rows(work, copy_fragment, tasks, f"copying {len(tasks)} fragments", key=_key, is_there=stage.has)
    fragments = stage.publish(written for _, written in copied)
    in_rounds(f"table {copy.name!r}", work, lambda: _commit(stage, dataset.schema, fragments))
    stage.discard(fragments)


def _commit(stage: Stage, schema: pa.Schema, fragments: list[FragmentMetadata]) -> None:
    """Who was faster may have dropped the table since."""
    _refuse_existing(stage.handle)
    with translated(f"copy to table {stage.handle.name!r}"):
        stage.commit(schema, fragments, None)


def _refuse_existing(copy: TableSpec) -> None:
    if copy.latest() is not None:
        raise table_exists(copy.id)


def _files(fragment: Any) -> tuple[str, ...]:
    marks = fragment.deletion_file()
    return (*(file.path for file in fragment.metadata.files), *([] if marks is None else [marks]))


def _key(task: _Piece) -> str:
    return fingerprint(task.fragment, task.files)

"""Rows from elsewhere, in a table: written in the columns that it has, or is to have, and visible in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import lance
import pyarrow as pa
from lance.schema import LanceSchema
from lance_namespace import InvalidInputError

from lancespace.authoring import fingerprint, translated
from lancespace_jobs._stages import Stage, declare
from lancespace_jobs._table_spec import TableSpec
from lancespace_jobs._written import Written

MODES = ("append", "overwrite")

MARK = "lancespace.job"
TASKS = "lancespace.tasks"
"""Properties of the transaction of a job: its mark, and the keys of the tasks whose rows it made visible."""
_DIGITS = 16
"""So much of a key is kept: it only tells the tasks of one job apart."""


def check_ingest_mode(mode: str) -> None:
    """Refuse what is neither.

    Raises:
        InvalidInputError: Naming what there is.
    """
    if mode not in MODES:
        raise InvalidInputError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")


def ingest(
    handle: TableSpec,
    mode: str,
    mark: str,
    keys: Iterable[str],
    *,
    columns: Callable[[lance.LanceDataset | None], pa.Schema],
    write: Callable[[Stage, pa.Schema, str], list[Written]],
) -> None:
    """Have rows written, and commit them; a table that is not there is created, and its name reserved first.

    Args:
        handle: The table.
        mode: One of :data:`MODES`.
        mark: The job's; the commit carries it, with the keys of what it made visible.
        keys: See :func:`_marks`.
        columns: The columns of the rows, given the table whose columns they must fit; None if they may be any.
        write: Writes the rows to a stage in these columns. What it wrote is of use to a later attempt as long as the
            shape, a digest of the table's columns, is the same: then the stage has the same place.

    Raises:
        ConcurrentModificationError: If others overwrote or created the table meanwhile; what was written stays.
    """
    existing = handle.latest()
    schema = columns(None if mode == "overwrite" else existing)
    if existing is None:
        declare(handle)
    shape = _shape(existing, schema)
    stage = Stage(handle, f"{mark}-{shape}", mode if existing is not None else "create")
    stage.prepare()
    fragments = stage.publish(write(stage, schema, shape))
    with translated(f"import into table {handle.name!r}"):
        properties = _marks(mark, keys)
        stage.commit(schema, fragments, None if existing is None else existing.version, properties)
    stage.discard(fragments)


def is_ingested(handle: TableSpec, mark: str, keys: Iterable[str]) -> dict[str, bool]:
    """Of each key, whether an earlier attempt, which died before it could say so, has committed its rows.

    If all are, what that attempt has left beside the table is removed.
    """
    existing = handle.latest()
    done = _are_committed(existing, mark, keys)
    if existing is not None and all(done.values()):
        Stage(handle, f"{mark}-{_shape(existing, existing.schema)}", "append").discard()
    return done


def _shape(existing: lance.LanceDataset | None, schema: pa.Schema) -> str:
    """A digest of the columns: files of an earlier attempt are of use as long as the table has the same."""
    known = LanceSchema.from_pyarrow(schema) if existing is None else existing.lance_schema
    return fingerprint([field.id() for field in known.fields()], str(schema.remove_metadata()))


def _marks(mark: str, keys: Iterable[str]) -> dict[str, str]:
    """What a commit carries, so that a repeat of its job knows it again, whatever became of its files."""
    return {MARK: mark, TASKS: " ".join(key[:_DIGITS] for key in keys)}


def _are_committed(dataset: lance.LanceDataset | None, mark: str, keys: Iterable[str]) -> dict[str, bool]:
    """Of each task, whether a commit of the job has its rows: as long as the table has the version."""
    done: set[str] = set()
    for entry in [] if dataset is None else dataset.versions():
        named = _properties_of(dataset, entry["version"])
        if named.get(MARK) == mark:
            done.update(named[TASKS].split())
    return {key: key[:_DIGITS] in done for key in keys}


def _properties_of(dataset: Any, version: int) -> Mapping[str, str]:
    try:
        transaction = dataset.read_transaction(version)
    except TypeError:  # pylance 14 cannot show the transaction of a compaction that rewrote indexes.
        return {}
    found: Mapping[str, str] | None = None if transaction is None else transaction.transaction_properties
    return found or {}

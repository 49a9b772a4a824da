"""Rows from elsewhere, in a table: written in the columns that it has, or is to have, and visible in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace.engines import fingerprint
from lancespace.errors import translated
from lancespace.jobs import history
from lancespace.jobs.reserving import declare
from lancespace.jobs.stages import Stage
from lancespace.jobs.written import Written

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from lancespace.handles import TableHandle

MODES = ("append", "overwrite")


def check_mode(mode: str) -> None:
    """Refuse what is neither.

    Raises:
        InvalidInputError: Naming what there is.
    """
    if mode not in MODES:
        raise InvalidInputError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")


def land(
    handle: TableHandle,
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
        keys: See :func:`lancespace.jobs.history.properties`.
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
        told = history.properties(mark, keys)
        stage.commit(schema, fragments, None if existing is None else existing.version, told)
    stage.discard(fragments)


def landed(handle: TableHandle, mark: str, keys: Iterable[str]) -> dict[str, bool]:
    """Of each key, whether an earlier attempt, which died before it could say so, has committed its rows.

    If all are, what that attempt has left beside the table is removed.
    """
    existing = handle.latest()
    done = history.are_committed(existing, mark, keys)
    if existing is not None and all(done.values()):
        Stage(handle, f"{mark}-{_shape(existing, existing.schema)}", "append").discard()
    return done


def _shape(existing: lance.LanceDataset | None, schema: pa.Schema) -> str:
    """A digest of the columns: files of an earlier attempt are of use as long as the table has the same."""
    from lance.schema import LanceSchema

    known = LanceSchema.from_pyarrow(schema) if existing is None else existing.lance_schema
    return fingerprint([field.id() for field in known.fields()], str(schema.remove_metadata()))

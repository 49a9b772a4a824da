"""What a commit does to which fragment, thought out before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lancespace_dir.manifest.schema import SCHEMA, check_flags, to_table

if TYPE_CHECKING:
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.fragments import Fragment
    from lancespace_dir.manifest.reader import ManifestReader
    from lancespace_dir.manifest.segments import Segment
    from lancespace_dir.manifest.snapshots import Snapshot
    from lancespace_dir.manifest.versions import Identity

TIP_ROWS = 256
"""The most rows that the tip, the fragment which takes new rows, can have; a fuller one is sealed."""


class Conflict(Exception):  # noqa: N818 - the expected outcome of a lost race
    """Somebody else committed first; look again and retry."""


@dataclass
class Plan:
    """A commit that is thought out and not yet written: what it is based on, and what it does to which fragment."""

    version: int
    """The version it is based on."""
    identity: Identity | None
    """Which file that version has on a local disk."""
    snapshot: Snapshot | None
    """The file of that version, if the next one can be written from it."""
    dataset: Any
    """The table at that version, if Lance is to commit or rows are to be deleted; otherwise at any."""
    fragments: Mapping[str, Fragment]
    schema: pa.Schema
    tip: str | None
    kept: pa.Table | None = None
    """Rows of the tip that stay."""
    added: list[pa.Table] = field(default_factory=list)
    deleted: dict[str, list[int]] = field(default_factory=dict)
    """Offsets to delete, by data file."""
    merged: list[int] = field(default_factory=list)
    """Numbers of fragments whose rows are written anew."""


def tip_of(fragments: Mapping[str, Any]) -> str | None:
    """The data file of the tip: the newest fragment that is small. Everybody at one version finds the same."""
    small = {path: fragment for path, fragment in fragments.items() if fragment.physical_rows <= TIP_ROWS}
    return _newest(small) if small else None


def plan(reader: ManifestReader, draft: Draft) -> Plan:
    """Think out the commit of a draft on top of what the reader has seen."""
    check_flags(reader.metadata, writing=True)
    snapshot = reader.snapshot()
    schema, tip = reader.handle.schema, tip_of(reader.fragments)
    made = Plan(reader.version, reader.identity, snapshot, reader.handle, reader.fragments, schema, tip)
    old = reader.places([*draft.changes, *draft.origins.values()])
    for object_id in draft.changes.keys() & old.keys():
        segment, row = old[object_id]
        if segment.path != made.tip:
            made.deleted.setdefault(segment.path, []).append(int(segment.offsets[row]))
    made.added = _new_rows(draft, old, schema)
    if made.tip is not None:
        made.kept = _rows_beside(reader.rows_of(made.tip), draft.changes.keys() & old.keys())
    if snapshot is None or not snapshot.is_plain:
        _leave_to_lance(made)
    if made.snapshot is None or made.deleted:
        made.dataset = reader.dataset
    if reader.version != made.version:
        raise Conflict  # The reader went on to a later version, as that one is gone.
    return made


def merging(reader: ManifestReader, merged: list[int]) -> Plan:
    """The commit that has the rows of some fragments written anew."""
    made = Plan(reader.version, reader.identity, reader.snapshot(), reader.dataset, reader.fragments, SCHEMA, None)
    if made.snapshot is None or not made.snapshot.is_plain:
        made.snapshot = None
    made.merged = merged
    return made


def _leave_to_lance(made: Plan) -> None:
    """See that the commit touches a fragment that all others touch, too."""
    made.snapshot = None
    if made.tip is None and made.fragments and _newest(made.fragments) not in made.deleted:
        _move_one_row(made)


def _new_rows(draft: Draft, old: Mapping[str, tuple[Segment, int]], schema: pa.Schema) -> list[pa.Table]:
    """The rows of new and changed entries; one that goes on from an old row keeps what only others know of it."""
    fresh, changed = [], []
    for object_id, entry in draft.changes.items():
        place = old.get(draft.origins.get(object_id, object_id))
        if entry is not None and place is not None:
            changed.append(_over(place[0].rows.slice(place[1], 1), to_table([entry], schema)))
        elif entry is not None:
            fresh.append(entry)
    return [*changed, to_table(fresh, schema)]


def _rows_beside(rows: pa.Table, changed: Collection[str]) -> pa.Table:
    if not changed:
        return rows
    ids = rows.column("object_id").to_pylist()
    return rows.filter(pa.array([object_id not in changed for object_id in ids], pa.bool_()))


def _move_one_row(made: Plan) -> None:
    """Touch the newest fragment by moving its first row, so that a concurrent commit cannot pass unnoticed."""
    path = _newest(made.fragments)
    row = made.dataset.get_fragment(made.fragments[path].id).scanner(limit=1, with_row_address=True).to_table()
    made.deleted[path] = [row.column("_rowaddr")[0].as_py() & 0xFFFFFFFF]
    made.added.append(row.drop_columns(["_rowaddr"]))


def _newest(fragments: Mapping[str, Any]) -> str:
    return max(fragments, key=lambda path: fragments[path].id)


def _over(old: pa.Table, fresh: pa.Table) -> pa.Table:
    """The new cells of a row over its old ones, so that columns which only others know keep their values."""
    for position, name in enumerate(old.schema.names):
        if name in SCHEMA.names:
            old = old.set_column(position, old.schema.field(position), fresh.column(name))
    return old

"""One commit to the manifest: a compare-and-swap.

Lance lets appends pass each other, so an append could not keep identifiers unique. Every commit of ours therefore
touches one fragment that everybody at the same version agrees on, and Lance refuses the second of two commits that
touch the same fragment. Usually that is the tip, a small fragment which is *replaced* by itself and the new rows.
Where no fragment is small, as after a commit of the Rust implementation, one row of the newest fragment moves into a
new tip. A manifest without any rows is overwritten, which may only become the very next version. So any two commits,
by either implementation, exclude each other; and a commit costs the same however large the catalog is, because rows
in larger fragments are never rewritten, only marked as deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from lance.fragment import write_fragments

from lancespace_dir.manifest import segments
from lancespace_dir.manifest.schema import SCHEMA, STORAGE_VERSION, Entry, check_flags, to_table

if TYPE_CHECKING:
    from lancespace.storage import Storage
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader
    from lancespace_dir.manifest.segments import Segment

TIP_ROWS = 256
"""A fragment of at most so many rows can be the tip; a fuller one is sealed and another begun."""


class Conflict(Exception):  # noqa: N818 - the expected outcome of a lost race
    """Somebody else committed first; look again and retry."""


@dataclass
class Plan:
    """A commit that is thought out and not yet written: what it is based on, and what it does to which fragment."""

    dataset: Any
    """The table it is based on, or None if it creates it."""
    fragments: Mapping[str, Any]
    schema: pa.Schema
    tip: str | None
    kept: pa.Table | None = None
    """Rows of the tip that stay."""
    added: list[pa.Table] = field(default_factory=list)
    deleted: dict[str, list[int]] = field(default_factory=dict)
    """Offsets to delete, by data file."""

    @property
    def version(self) -> int:
        """The version it is based on."""
        return 0 if self.dataset is None else int(self.dataset.version)


def tip_of(fragments: Mapping[str, Any]) -> str | None:
    """The data file of the tip: the newest fragment that is small. Everybody at one version finds the same."""
    small = {path: fragment for path, fragment in fragments.items() if fragment.physical_rows <= TIP_ROWS}
    return _newest(small) if small else None


def plan(reader: ManifestReader, draft: Draft) -> Plan:
    """Think out the commit of a draft on top of what the reader has seen."""
    if reader.dataset is not None:
        check_flags(reader.metadata, writing=True)
    schema = SCHEMA if reader.dataset is None else reader.dataset.schema
    made = Plan(reader.dataset, dict(reader.fragments), schema, tip_of(reader.fragments))
    old = reader.places([*draft.changes, *draft.origins.values()])
    for object_id in draft.changes.keys() & old.keys():
        segment, row = old[object_id]
        if segment.path != made.tip:
            made.deleted.setdefault(segment.path, []).append(int(segment.offsets[row]))
    made.added = _new_rows(draft, old, schema)
    if made.tip is not None:
        made.kept = _rows_beside(reader.rows_of(made.tip), draft.changes)
    elif made.fragments and _newest(made.fragments) not in made.deleted:
        _move_one_row(made)
    return made


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


def _rows_beside(rows: pa.Table, changes: Mapping[str, Entry | None]) -> pa.Table:
    ids = rows.column("object_id").to_pylist()
    return rows.filter(pa.array([object_id not in changes for object_id in ids], pa.bool_()))


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


class ManifestWriter:
    """Writes planned commits."""

    def __init__(self, storage: Storage, uri: str) -> None:
        self._storage = storage
        self._uri = uri

    def write(self, made: Plan) -> list[tuple[Any, Segment]]:
        """Write the data files of a plan, which nobody sees yet: the fragments, and their rows in memory.

        Raises:
            Conflict: If the plan is to create the manifest, and somebody else did.
        """
        kept = 0 if made.kept is None else made.kept.num_rows
        tables = [*([made.kept] if made.kept is not None else []), *made.added]
        rows = pa.concat_tables(tables).combine_chunks()
        if not rows.num_rows:
            return []
        parts = [rows] if rows.num_rows <= TIP_ROWS else _sealed(rows, kept)
        return [self._write_fragment(made, part) for part in parts]

    def publish(self, made: Plan, fragments: list[Any]) -> Any:
        """Commit a plan, and return the table at its new version.

        Raises:
            Conflict: If what it is based on is no longer the latest version.
        """
        transaction = lance.Transaction(made.version, self._operation(made, fragments))
        try:
            return lance.LanceDataset.commit(
                self._uri if made.dataset is None else made.dataset,
                transaction,
                read_version=made.version,
                storage_options=self._storage.options,
                max_retries=0,
            )
        except OSError as error:
            return self._find_out(made, transaction, error)

    def _write_fragment(self, made: Plan, rows: pa.Table) -> tuple[Any, Segment]:
        creating = made.dataset is None
        try:
            (fragment,) = write_fragments(
                rows,
                self._uri if creating else made.dataset,
                schema=rows.schema,
                mode="create" if creating else "append",
                data_storage_version=STORAGE_VERSION if creating else None,
                storage_options=self._storage.options,
            )
        except OSError as error:
            if creating and self._is_there():
                raise Conflict from error
            raise
        return fragment, segments.whole(segments.path_of(fragment), rows)

    def _operation(self, made: Plan, fragments: list[Any]) -> Any:
        if not made.fragments:
            return lance.LanceOperation.Overwrite(made.schema, fragments)
        gone = [] if made.tip is None else [made.fragments[made.tip].id]
        updated = []
        for path, offsets in made.deleted.items():
            fragment = made.dataset.get_fragment(made.fragments[path].id)
            rest = fragment.delete_rows(sorted(offsets))
            if rest is None:
                gone.append(fragment.fragment_id)
            else:
                updated.append(rest)
        return lance.LanceOperation.Update(
            removed_fragment_ids=gone, updated_fragments=updated, new_fragments=fragments
        )

    def _is_there(self) -> bool:
        return self._storage.exists(f"{self._storage.path(self._uri)}/_versions")

    def _find_out(self, made: Plan, transaction: lance.Transaction, error: OSError) -> Any:
        """The commit failed, or only its answer was lost: the versions since then tell which."""
        if not self._is_there():
            raise error
        latest = lance.dataset(self._uri, storage_options=self._storage.options)
        for version in range(made.version + 1, latest.version + 1):
            done = latest.read_transaction(version)
            if done is not None and done.uuid == transaction.uuid:
                return latest
        if latest.version > made.version:
            raise Conflict from error
        raise error


def _sealed(rows: pa.Table, kept: int) -> list[pa.Table]:
    """Rows that are too many for a tip: those to seal, and a new tip, which must not be empty."""
    cut = kept if 0 < kept < rows.num_rows and rows.num_rows - kept <= TIP_ROWS else rows.num_rows - 1
    return [rows.slice(0, cut), rows.slice(cut)]

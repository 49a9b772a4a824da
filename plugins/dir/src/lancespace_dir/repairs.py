"""Repairs of what :mod:`.checks` finds.

A repair touches only what belongs to nobody. It looks again right before it acts, and acts only if all is as it was
found. A writer that comes in between is noticed, or notices the repair. A repair may be run twice, or after it was
interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespaceError

from lancespace.authoring import identifiers, store_time, translated
from lancespace_dir import checks, mutations, recovery, reservations
from lancespace_dir.checks import Finding
from lancespace_dir.listing import Listing
from lancespace_dir.look import Look
from lancespace_dir.manifest.schema import DIRECTORY, TABLE, parent_of, quoted
from lancespace_dir.manifest_catalog import ManifestCatalog

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_dir.manifest.committer import ManifestTable
    from lancespace_dir.manifest.drafts import Draft

DONE = "done"
GONE = "it is not there any more"


def plan_repair(finding: Finding, *, orphans: bool = False) -> str:
    """What :func:`repair` does about a finding; empty if that is for a person to decide."""
    if finding.kind not in _REPAIRS or (finding.kind == checks.ORPHAN_TABLE and not orphans):
        return ""
    words, _ = _REPAIRS[finding.kind]
    return words


def repair(
    namespace: Namespace, findings: Iterable[Finding], *, older_than: timedelta
) -> Iterator[tuple[Finding, str]]:
    """Repair findings one after the other, and yield what came of each: ``done``, or why it was left as it is.

    The clock of the store decides what is old enough. A finding that cannot be repaired, as when a view needs a table
    whose data is gone, does not keep the others from it.
    """
    storage = namespace.backend.storage
    with translated("read the clock of the store"):
        now = store_time(storage, storage.path())
    still = frozenset(checks.check(namespace, older_than=older_than, now=now))
    for finding in findings:
        yield finding, _outcome(Context(namespace.backend, older_than, now), finding) if finding in still else GONE


@dataclass(frozen=True)
class Context:
    """What every repair is given."""

    backend: Any
    older_than: timedelta
    now: datetime

    @property
    def manifest(self) -> ManifestTable:
        """The table of a catalog that has one."""
        table: ManifestTable = self.backend.catalog.manifest
        return table

    def look(self) -> Look:
        """The catalog as it is at this moment."""
        return Look(self.backend, self.older_than, self.now)


def _outcome(context: Context, finding: Finding) -> str:
    try:
        with translated(f"repair {finding.subject!r}"):
            _, attempt = _REPAIRS[finding.kind]
            return DONE if attempt(context, finding) else GONE
    except LanceNamespaceError as error:
        return str(error)


def _delete(context: Context, finding: Finding) -> bool:
    """Delete what a job left. Who would still need it has not touched it for long."""
    storage = context.backend.storage
    if not context.look().is_old(finding.subject):
        return False
    storage.delete_tree(f"{storage.path()}/{finding.subject}")
    return True


def _delete_orphan(context: Context, finding: Finding) -> bool:
    """Delete a directory that no table is in."""
    if _is_named(context, finding.subject) or not context.look().is_old(finding.subject):
        return False

    def needed(locations: Collection[str]) -> Collection[str]:
        return [location for location in locations if _is_named(context, location)]

    return not Listing(context.backend.storage).delete([finding.subject], needed)


def _is_named(context: Context, location: str) -> bool:
    """Whether the catalog names a table at a location, above or below it."""
    catalog = context.backend.catalog
    if not isinstance(catalog, ManifestCatalog):
        return Listing(context.backend.storage).is_occupied(DIRECTORY)  # Somebody has begun one.
    with catalog.manifest.reading() as reader:
        return bool(reader.tables_at(location))


def _drop_reservation(context: Context, finding: Finding) -> bool:
    """Take the row of a table without data out, then delete its marks; a writer who comes back finds it dropped."""
    storage, location = context.backend.storage, finding.location

    def is_empty() -> bool:
        return reservations.is_reserved(storage, location) and context.look().is_old(location)

    if not is_empty():
        return False
    if finding.entry is not None and not reservations.take_out(context.manifest, finding.entry, is_empty):
        return False
    reservations.delete_marks(storage, location)
    return True


def _take_table_out(context: Context, finding: Finding) -> bool:
    look, entry = context.look(), finding.entry
    if entry is None:
        return False
    is_empty, is_old = lambda: not look.contents(finding.location), lambda: bool(look.old_rows([entry]))
    return reservations.take_out(context.manifest, entry, is_empty, is_old)


def _take_version_out(context: Context, finding: Finding) -> bool:
    def remove(draft: Draft) -> bool:
        table = draft.get(parent_of(finding.object_id))
        if draft.get(finding.object_id) is None or (table is not None and table.object_type == TABLE):
            return False
        draft.remove(finding.object_id)
        return True

    return context.manifest.mutate(remove)


def _create_namespaces(context: Context, finding: Finding) -> bool:
    parent = identifiers.split(finding.object_id)[:-1]

    def enter(draft: Draft) -> None:
        for depth in range(1, len(parent) + 1):
            mutations.enter_namespace(draft, parent[:depth], {}, "ExistOk")

    context.manifest.mutate(enter)
    return True


def _rebuild(context: Context, _: Finding) -> bool:
    return recovery.rebuild(context.backend.storage)


def _keep_last(context: Context, finding: Finding) -> bool:
    """Delete all rows of an identifier but the last, in one commit of the table."""
    with context.manifest.reading() as reader:
        table = reader.open_latest()
    where = f"object_id = {quoted(finding.object_id)}"
    rows = table.scanner(columns=["object_id"], filter=where, with_row_id=True).to_table()
    *surplus, _ = sorted(rows.column("_rowid").to_pylist())
    if surplus:
        with translated("change the catalog's manifest"):
            table.delete(f"_rowid IN ({', '.join(map(str, surplus))})")
    return bool(surplus)


_REPAIRS: Mapping[str, tuple[str, Callable[[Context, Finding], bool]]] = {
    checks.ORPHAN_TABLE: ("delete it", _delete_orphan),
    checks.ORPHAN_DIRECTORY: ("delete it", _delete_orphan),
    checks.MISSING_LOCATION: ("take the row out", _take_table_out),
    checks.DUPLICATE_ROW: ("keep the last row only", _keep_last),
    checks.NO_NAMESPACE: ("create the namespace", _create_namespaces),
    checks.NO_TABLE: ("take the row out", _take_version_out),
    checks.STALE_RESERVATION: ("drop the table", _drop_reservation),
    checks.LEFTOVER: ("delete it", _delete),
    checks.DAMAGED_MANIFEST: ("rebuild it from its data files", _rebuild),
}
"""What is done about a kind of finding, in words and in deed."""

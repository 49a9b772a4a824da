"""Mending what :mod:`.checks` finds.

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

from lancespace import identifiers
from lancespace.errors import translated
from lancespace.storage import clock
from lancespace_dir import changes, checks, recovery, reservations
from lancespace_dir.checks import Finding
from lancespace_dir.listing import Listing
from lancespace_dir.look import Look
from lancespace_dir.manifest.listings import parent_of
from lancespace_dir.manifest.schema import DIRECTORY, TABLE, Entry
from lancespace_dir.v2 import ManifestCatalog

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_dir.manifest.drafts import Draft

DONE = "done"
GONE = "it is not there any more"

_WORDS: Mapping[str, str] = {
    checks.ORPHAN_DIRECTORY: "delete it",
    checks.MISSING_LOCATION: "take the row out",
    checks.DUPLICATE_ROW: "keep the last row only",
    checks.NO_NAMESPACE: "create the namespace",
    checks.NO_TABLE: "take the row out",
    checks.STALE_RESERVATION: "drop the table",
    checks.LEFTOVER: "delete it",
    checks.DAMAGED_MANIFEST: "rebuild it from its data files",
}


def mends(finding: Finding, *, orphans: bool = False) -> str:
    """What :func:`mend` does about a finding; empty if that is for a person to decide."""
    if finding.kind == checks.ORPHAN_TABLE and orphans:
        return "delete it"
    return _WORDS.get(finding.kind, "")


def mend(namespace: Namespace, findings: Iterable[Finding], *, older_than: timedelta) -> Iterator[tuple[Finding, str]]:
    """Mend findings one after the other, and tell what came of each: ``done``, or why it was left as it is.

    What is to be spared is told by the clock of the store. A finding that cannot be mended, as when a view needs a
    table whose data is gone, does not keep the others from it.
    """
    storage = namespace.backend.storage
    with translated("read the clock of the store"):
        now = clock.now(storage, storage.path())
    still = frozenset(checks.check(namespace, older_than=older_than, now=now))
    for finding in findings:
        yield finding, _mended(Repair(namespace.backend, older_than, now), finding) if finding in still else GONE


@dataclass(frozen=True)
class Repair:
    """What a repair has to go by."""

    backend: Any
    older_than: timedelta
    now: datetime

    def look(self) -> Look:
        """The catalog as it is at this moment."""
        return Look(self.backend, self.older_than, self.now)


def _mended(repair: Repair, finding: Finding) -> str:
    try:
        with translated(f"repair {finding.subject!r}"):
            return DONE if _REPAIRS[finding.kind](repair, finding) else GONE
    except LanceNamespaceError as error:
        return str(error)


def _delete(repair: Repair, finding: Finding) -> bool:
    """Delete what a job left. Who would still need it has not touched it for long."""
    storage = repair.backend.storage
    if not repair.look().is_old(finding.subject):
        return False
    storage.delete_tree(f"{storage.path()}/{finding.subject}")
    return True


def _delete_orphan(repair: Repair, finding: Finding) -> bool:
    """Delete a directory that no table is in."""
    if _is_named(repair, finding.subject) or not repair.look().is_old(finding.subject):
        return False

    def needed(locations: Collection[str]) -> Collection[str]:
        return [location for location in locations if _is_named(repair, location)]

    return not Listing(repair.backend.storage).delete([finding.subject], needed)


def _is_named(repair: Repair, location: str) -> bool:
    """Whether the catalog names a table at a location, above or below it."""
    catalog = repair.backend.catalog
    if not isinstance(catalog, ManifestCatalog):
        return Listing(repair.backend.storage).is_occupied(DIRECTORY)  # Somebody has begun one.
    with catalog.manifest.reading() as reader:
        return bool(reader.tables_at(location))


def _drop_reservation(repair: Repair, finding: Finding) -> bool:
    """Take the row of a table without data out, then delete its marks; a writer who comes back finds it dropped."""
    storage, location = repair.backend.storage, finding.location

    def is_empty() -> bool:
        return reservations.is_reserved(storage, location) and repair.look().is_old(location)

    if not is_empty():
        return False
    if finding.entry is not None and not _take_out(repair, finding.entry, is_empty):
        return False
    reservations.delete_marks(storage, location)
    return True


def _take_table_out(repair: Repair, finding: Finding) -> bool:
    look, entry = repair.look(), finding.entry
    if entry is None:
        return False
    return _take_out(repair, entry, lambda: not look.contents(finding.location), lambda: bool(look.old_rows([entry])))


def _take_out(
    repair: Repair, entry: Entry, is_empty: Callable[[], bool], is_old: Callable[[], bool] | None = None
) -> bool:
    return reservations.take_out(repair.backend.catalog.manifest, entry, is_empty, is_old)


def _take_version_out(repair: Repair, finding: Finding) -> bool:
    def remove(draft: Draft) -> bool:
        table = draft.get(parent_of(finding.object_id))
        if draft.get(finding.object_id) is None or (table is not None and table.object_type == TABLE):
            return False
        draft.remove(finding.object_id)
        return True

    is_out: bool = repair.backend.catalog.manifest.mutate(remove)
    return is_out


def _create_namespaces(repair: Repair, finding: Finding) -> bool:
    parent = identifiers.split(finding.object_id)[:-1]

    def enter(draft: Draft) -> None:
        for depth in range(1, len(parent) + 1):
            changes.enter_namespace(draft, parent[:depth], {}, "ExistOk")

    repair.backend.catalog.manifest.mutate(enter)
    return True


def _rebuild(repair: Repair, _: Finding) -> bool:
    return recovery.rebuild(repair.backend.storage)


def _keep_last(repair: Repair, finding: Finding) -> bool:
    """Delete all rows of an identifier but the last, in one commit of the table."""
    with repair.backend.catalog.manifest.reading() as reader:
        table = reader.open_latest()
    quoted = finding.object_id.replace("'", "''")
    rows = table.scanner(columns=["object_id"], filter=f"object_id = '{quoted}'", with_row_id=True).to_table()
    *surplus, _ = sorted(rows.column("_rowid").to_pylist())
    if surplus:
        with translated("change the catalog's manifest"):
            table.delete(f"_rowid IN ({', '.join(map(str, surplus))})")
    return bool(surplus)


_REPAIRS: Mapping[str, Callable[[Repair, Finding], bool]] = {
    checks.ORPHAN_TABLE: _delete_orphan,
    checks.ORPHAN_DIRECTORY: _delete_orphan,
    checks.MISSING_LOCATION: _take_table_out,
    checks.DUPLICATE_ROW: _keep_last,
    checks.NO_NAMESPACE: _create_namespaces,
    checks.NO_TABLE: _take_version_out,
    checks.STALE_RESERVATION: _drop_reservation,
    checks.LEFTOVER: _delete,
    checks.DAMAGED_MANIFEST: _rebuild,
}

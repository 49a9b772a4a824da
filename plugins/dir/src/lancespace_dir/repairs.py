"""Mending what :mod:`.checks` finds.

A repair looks again before it touches anything: it may be run twice, or after it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespaceError

from lancespace import identifiers
from lancespace.errors import translated
from lancespace_dir import changes, checks
from lancespace_dir.checks import RESERVATION, Finding, Look
from lancespace_dir.manifest.index import parent_of
from lancespace_dir.manifest.schema import TABLE
from lancespace_dir.root import TABLE_SUFFIX

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
}


def mends(finding: Finding, *, orphans: bool = False) -> str:
    """What :func:`mend` does about a finding; empty if that is for a person to decide."""
    if finding.kind == checks.ORPHAN_TABLE and orphans:
        return "delete it"
    return _WORDS.get(finding.kind, "")


def mend(namespace: Namespace, findings: Iterable[Finding], *, older_than: timedelta) -> Iterator[tuple[Finding, str]]:
    """Mend findings one after the other, and tell what came of each: ``done``, or why it was left as it is.

    One that cannot be mended, as when a view needs a table whose data is gone, does not keep the others from it.
    """
    still = frozenset(checks.check(namespace, older_than=older_than))
    for finding in findings:
        yield finding, _mended(namespace.backend, finding) if finding in still else GONE


def _mended(backend: Any, finding: Finding) -> str:
    try:
        return DONE if _REPAIRS[finding.kind](backend, finding) else GONE
    except LanceNamespaceError as error:
        return str(error)


def _delete(backend: Any, finding: Finding) -> bool:
    backend.storage.delete_tree(f"{backend.storage.path()}/{finding.subject}")
    return True


def _drop(backend: Any, finding: Finding) -> bool:
    names = identifiers.split(finding.object_id) or [finding.subject.removesuffix(TABLE_SUFFIX)]
    location = backend.catalog.find(names).location
    if not Look(backend, timedelta(0)).contents(location) <= RESERVATION:
        return False
    backend.catalog.drop(names)
    return True


def _take_table_out(backend: Any, finding: Finding) -> bool:
    names = identifiers.split(finding.object_id)

    def take_out(draft: Draft) -> bool:
        if backend.catalog.listing.is_occupied(changes.place_of(changes.need_table(draft, names)).location):
            return False
        changes.take_out_table(draft, names)
        return True

    is_out: bool = backend.catalog.manifest.mutate(take_out)
    return is_out


def _take_version_out(backend: Any, finding: Finding) -> bool:
    def remove(draft: Draft) -> bool:
        table = draft.get(parent_of(finding.object_id))
        if draft.get(finding.object_id) is None or (table is not None and table.object_type == TABLE):
            return False
        draft.remove(finding.object_id)
        return True

    is_out: bool = backend.catalog.manifest.mutate(remove)
    return is_out


def _create_namespaces(backend: Any, finding: Finding) -> bool:
    parent = identifiers.split(finding.object_id)[:-1]

    def enter(draft: Draft) -> None:
        for depth in range(1, len(parent) + 1):
            changes.enter_namespace(draft, parent[:depth], {}, "ExistOk")

    backend.catalog.manifest.mutate(enter)
    return True


def _keep_last(backend: Any, finding: Finding) -> bool:
    """Delete all rows of an identifier but the last, in one commit of the table."""
    with backend.catalog.manifest.reading() as reader:
        table = reader.open_latest()
    quoted = finding.object_id.replace("'", "''")
    rows = table.scanner(columns=["object_id"], filter=f"object_id = '{quoted}'", with_row_id=True).to_table()
    *surplus, _ = sorted(rows.column("_rowid").to_pylist())
    if surplus:
        with translated("change the catalog's manifest"):
            table.delete(f"_rowid IN ({', '.join(map(str, surplus))})")
    return bool(surplus)


_REPAIRS: Mapping[str, Callable[[Any, Finding], bool]] = {
    checks.ORPHAN_TABLE: _delete,
    checks.ORPHAN_DIRECTORY: _delete,
    checks.MISSING_LOCATION: _take_table_out,
    checks.DUPLICATE_ROW: _keep_last,
    checks.NO_NAMESPACE: _create_namespaces,
    checks.NO_TABLE: _take_version_out,
    checks.STALE_RESERVATION: _drop,
    checks.LEFTOVER: _delete,
}

"""From V1 to V2: entering tables that only the directory shows into the manifest, as a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lance_namespace import InvalidTableStateError, UnsupportedOperationError

from lancespace.authoring import public
from lancespace_dir.manifest.schema import TABLE, Entry
from lancespace_dir.manifest_catalog import ManifestCatalog
from lancespace_dir.root import root_location

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.authoring import Work
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_jobs import SubmittedJob

_BATCH = 1000
"""How many tables are entered in one commit."""


@dataclass(frozen=True)
class _Batch:
    """Tables to enter, and how to connect to their catalog."""

    backend: str
    properties: Mapping[str, str] = field(repr=False)
    names: tuple[str, ...]


@public
def unmigrated(namespace: Namespace) -> list[str]:
    """The tables that only the directory shows: those that :func:`migrate` would enter in the manifest.

    Raises:
        UnsupportedOperationError: If the namespace is no directory catalog with manifest and directory listing.
    """
    return [name for name, _ in _catalog(namespace).v1_tables()]


@public
def migrate(namespace: Namespace) -> SubmittedJob:
    """Enter all V1 tables of a directory catalog in its manifest; data and names stay as they are.

    If a name is also that of a namespace or of another table, nothing is entered and the job fails: rename one of the
    two. It goes in batches of one commit each, and a table that is in the manifest is passed over, so that a migration
    that failed or was cancelled is finished by another. Afterwards ``dir_listing_enabled`` can be set to false.

    Raises:
        UnsupportedOperationError: If the namespace is no directory catalog with manifest and directory listing.
    """
    from lancespace.authoring import Job
    from lancespace_jobs import submit

    _catalog(namespace)
    return submit(namespace, Job("migrate", str(namespace.namespace_id()), lambda work: _run(namespace, work)))


def enter(batch: _Batch) -> int:
    """Enter the tables of a batch that are not in the manifest yet; runs wherever the engine computes."""
    from lancespace_jobs import connected

    def put(draft: Draft) -> int:
        new = [name for name in batch.names if _needs_row(draft.get(name), name)]
        held = dict(draft.tables_at(*map(root_location, new)))
        new = [name for name in new if root_location(name) not in held]  # Renamed meanwhile.
        for name in new:
            draft.put(Entry(name, TABLE, root_location(name)))
        return len(new)

    return _catalog(connected(batch.backend, batch.properties)).manifest.mutate(put)


def _needs_row(entry: Entry | None, name: str) -> bool:
    """Whether a V1 table has no row yet.

    Raises:
        InvalidTableStateError: Something else has its name, so that a row would hide one of the two.
    """
    if entry is not None and (entry.object_type, entry.location) != (TABLE, root_location(name)):
        taken = f"the {entry.object_type} {name!r}" + (f" at {entry.location!r}" if entry.location else "")
        raise InvalidTableStateError(
            f"The V1 table {root_location(name)!r} has the same name as {taken}, so it cannot be entered in the "
            "manifest: rename one of the two with rename_table, or drop one, and migrate again. Nothing was entered."
        )
    return entry is None


def _run(namespace: Namespace, work: Work) -> None:
    """Batches go one after the other: at once, they would only be in each other's way."""
    waiting = _without_clash(_catalog(namespace))
    entered = 0
    message = f"entering {len(waiting)} tables in the manifest"
    work.report(0.0, message, entered)
    batches = [_Batch(*namespace.connection_args(), names) for names in _slices(waiting)]
    for number, (_, done) in enumerate(work.map(enter, batches, key=lambda one: one.names[0], concurrency=1), 1):
        entered += done
        work.report(number / len(batches), message, entered)


def _without_clash(catalog: ManifestCatalog) -> list[str]:
    """The tables to enter, after a look at all V1 tables for names that are taken."""
    return [name for name, entry in catalog.v1_tables() if _needs_row(entry, name)]


def _slices(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(names[start : start + _BATCH]) for start in range(0, len(names), _BATCH)]


def _catalog(namespace: Namespace) -> ManifestCatalog:
    catalog = getattr(namespace.backend, "catalog", None)
    if not isinstance(catalog, ManifestCatalog) or not catalog.with_v1:
        raise UnsupportedOperationError(
            f"{namespace!r} has nothing to migrate: connect to 'dir' with manifest_enabled=true and "
            "dir_listing_enabled=true."
        )
    return catalog

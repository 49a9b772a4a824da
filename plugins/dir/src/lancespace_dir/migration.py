"""From V1 to V2: entering tables that only the directory shows into the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from lance_namespace import UnsupportedOperationError

from lancespace_dir.manifest.schema import TABLE, Entry
from lancespace_dir.root import root_location
from lancespace_dir.v2 import ManifestCatalog

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_dir.manifest.drafts import Draft

Progress = Callable[[int, int], None]
"""Told how many tables are done, and of how many."""

_BATCH = 1000


@dataclass(frozen=True)
class Migration:
    """What a migration did, or would do."""

    registered: tuple[str, ...]
    """Tables that were entered in the manifest, or would be."""
    is_dry_run: bool


def migrate(namespace: Namespace, *, dry_run: bool = False, progress: Progress | None = None) -> Migration:
    """Enter all V1 tables of a directory catalog in its manifest; data and names stay as they are.

    It goes in batches of one commit each, and a table that is in the manifest is passed over, so that a migration that
    was interrupted is finished by running it again. Afterwards ``dir_listing_enabled`` can be set to false.

    Raises:
        UnsupportedOperationError: If the namespace is no directory catalog with manifest and directory listing.
    """
    catalog = getattr(namespace.backend, "catalog", None)
    if not isinstance(catalog, ManifestCatalog) or not catalog.with_v1:
        raise UnsupportedOperationError(
            f"{namespace!r} has nothing to migrate: connect to 'dir' with manifest_enabled=true and "
            "dir_listing_enabled=true."
        )
    waiting = catalog.only_v1()
    if not dry_run:
        remaining = iter(waiting)
        for done in _enter_all(catalog, remaining):
            if progress is not None:
                progress(done, len(waiting))
    return Migration(tuple(waiting), dry_run)


def _enter_all(catalog: ManifestCatalog, names: Iterator[str]) -> Iterator[int]:
    done = 0
    while batch := list(islice(names, _BATCH)):

        def enter(draft: Draft, batch: list[str] = batch) -> None:
            for name in batch:
                if draft.get(name) is None:
                    draft.put(Entry(name, TABLE, root_location(name)))

        catalog.manifest.mutate(enter)
        done += len(batch)
        yield done

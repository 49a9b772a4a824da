"""Deleting old versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    InvalidInputError,
    InvalidTableStateError,
    TableVersionNotFoundError,
)

from lancespace.storage.reading import read
from lancespace.tables.access import MAIN_BRANCH, name_of

if TYPE_CHECKING:
    from collections.abc import Collection

    import lance
    from lance_namespace_urllib3_client.models.version_range import VersionRange

    from lancespace.tables.manifests import Manifest
    from lancespace.tables.versions import VersionStore

_TO_THE_LATEST = -1


def delete_versions(store: VersionStore, dataset: lance.LanceDataset, request: BatchDeleteTableVersionsRequest) -> int:
    """Delete the versions in the ranges and return how many; data files are left to ``cleanup_old_versions``.

    Everything is checked before anything is deleted. The latest version, and versions that a tag or a branch goes back
    to, are never deleted.

    Raises:
        InvalidInputError: A range is not one, or takes in the latest version.
        InvalidTableStateError: A tag or a branch needs one of the versions.
        TableVersionNotFoundError: There is no version at all in one of the ranges.
    """
    doomed = to_delete(list(store.all()), request)
    refuse_needed(dataset, request, doomed.keys())
    return store.delete(doomed[version] for version in sorted(doomed))


def to_delete(manifests: list[Manifest], request: BatchDeleteTableVersionsRequest) -> dict[int, Manifest]:
    """The versions in the ranges of a request, of those that there are, oldest first."""
    if not request.ranges:
        raise InvalidInputError("batch_delete_table_versions needs at least one range of versions")
    doomed: dict[int, Manifest] = {}
    for each in request.ranges:
        doomed |= {manifest.version: manifest for manifest in _in_range(manifests, each, name_of(request))}
    return doomed


def _in_range(manifests: list[Manifest], wanted: VersionRange, table: str) -> list[Manifest]:
    start, end, latest = wanted.start_version, wanted.end_version, manifests[-1].version
    if start < 0 or (end != _TO_THE_LATEST and end <= start):
        raise InvalidInputError(f"{start} to {end} is not a range: the end is exclusive and must be above the start")
    if start <= latest and (end == _TO_THE_LATEST or end > latest):
        raise InvalidInputError(
            f"the range from {start} takes in version {latest}, the latest of table {table!r}, which must stay: "
            f"end it at {latest}, or drop the table"
        )
    found = [manifest for manifest in manifests if start <= manifest.version < end]
    if not found:
        raise TableVersionNotFoundError(f"table {table!r} has no version from {start} up to {end}")
    return found


def refuse_needed(
    dataset: lance.LanceDataset, request: BatchDeleteTableVersionsRequest, doomed: Collection[int]
) -> None:
    """Raise InvalidTableStateError if a tag or a branch goes back to one of the versions."""
    branch = None if request.branch == MAIN_BRANCH else request.branch
    tags = {f"tag {name!r}": (tag["branch"], tag["version"]) for name, tag in read(dataset.tags.list).items()}
    branches = {
        f"branch {name!r}": (one["parent_branch"], one["parent_version"])
        for name, one in read(dataset.branches.list).items()
    }
    needed = [
        f"{what} needs version {at}" for what, (on, at) in (tags | branches).items() if on == branch and at in doomed
    ]
    if needed:
        raise InvalidTableStateError(f"table {name_of(request)!r}: {'; '.join(sorted(needed))}: delete these first")

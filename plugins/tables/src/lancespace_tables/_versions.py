"""Versions: listing, describing, restoring and deleting them, and committing them for clients."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, TypeVar

import lance
from lance_namespace import (
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    InvalidInputError,
    InvalidTableStateError,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
    RestoreTableRequest,
    RestoreTableResponse,
    TableVersion,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation
from lance_namespace_urllib3_client.models.commit_table_result import CommitTableResult
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lancespace.authoring import hookimpl, page, read, translated
from lancespace_tables._access import MAIN_BRANCH, OperationGroup, TableLocation, name_of, transaction_id
from lancespace_tables._manifests import Manifest

Part = TypeVar("Part")

_TO_THE_LATEST = -1


class BatchPart(str, Enum):
    """The kinds of operations in a batch, as its fields are called."""

    DECLARE = "declare_table"
    CREATE_VERSION = "create_table_version"
    DELETE_VERSIONS = "delete_table_versions"
    DEREGISTER = "deregister_table"

    @property
    def operation(self) -> str:
        """The operation that does the same alone."""
        return "batch_delete_table_versions" if self is BatchPart.DELETE_VERSIONS else self.value


class VersionOperations(OperationGroup):
    """The version operations; a backend that keeps versions itself answers another store for its tables."""

    @hookimpl
    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """The versions, oldest first unless asked otherwise; a declared table has none."""
        ref = self.backend.locate(request)
        descending = bool(request.descending)
        with translated(f"list the versions of table {ref.name!r}"):
            store = self.backend.versions_of(ref, request.branch)
            shown, token = page(
                store.all(descending=descending),
                lambda manifest: manifest.version,
                request.page_token,
                request.limit,
                descending=descending,
            )
            if not shown and request.branch is not None:
                _stored(ref).latest(request.branch)  # Says so if there is no such branch.
        return ListTableVersionsResponse(versions=[store.describe(one) for one in shown], page_token=token)

    @hookimpl
    def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
        """One version, by default the latest."""
        ref = self.backend.locate(request)
        with translated(f"describe a version of table {ref.name!r}"):
            store = self.backend.versions_of(ref, request.branch)
            found = store.find(request.version)
            if found is None and store.find(None) is None:
                _stored(ref).open(branch=request.branch)  # Says so if there is no data, or no such branch.
        if found is None:
            raise TableVersionNotFoundError(
                f"table {ref.name!r} has no version {request.version}: see list_table_versions"
            )
        return DescribeTableVersionResponse(version=store.describe(found))

    @hookimpl
    def restore_table(self, request: RestoreTableRequest) -> RestoreTableResponse:
        """Make an old version the latest again, as a new version: nothing between them is lost."""
        with self.opened(request, f"restore version {request.version} of") as dataset:
            dataset.restore()
            return RestoreTableResponse(transaction_id=transaction_id(dataset))

    @hookimpl
    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        """Publish a staged manifest as the next version."""
        return CreateTableVersionResponse(version=self._create_version(request))

    @hookimpl
    def batch_create_table_versions(self, request: BatchCreateTableVersionsRequest) -> BatchCreateTableVersionsResponse:
        """A batch of one; several tables change together only in a catalog that keeps the versions itself."""
        created = self._create_version(
            CreateTableVersionRequest(
                **_only(request.entries, "batch_create_table_versions got {} entries").model_dump()
            )
        )
        return BatchCreateTableVersionsResponse(versions=[created])

    @hookimpl
    def batch_delete_table_versions(self, request: BatchDeleteTableVersionsRequest) -> BatchDeleteTableVersionsResponse:
        """Delete the versions in some ranges; data files are left to ``cleanup_old_versions``.

        Everything is checked before anything is deleted. The latest version, and versions that a tag or a branch goes
        back to, are never deleted.
        """
        ref = self.backend.locate(request)
        dataset = ref.open(branch=request.branch)
        with translated(f"delete versions of table {ref.name!r}"):
            store = self.backend.versions_of(ref, request.branch)
            doomed = to_delete(list(store.all()), request)
            refuse_needed(dataset, request, doomed.keys())
            deleted = store.delete(doomed[version] for version in sorted(doomed))
        return BatchDeleteTableVersionsResponse(deleted_count=deleted)

    @hookimpl
    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse:
        """Do the one operation of the batch."""
        kind, part = part_of(_only(request.operations, "batch_commit_tables got {} operations"), 0)
        done = self.backend.operation(kind.operation)(request=part)
        return BatchCommitTablesResponse(results=[CommitTableResult(**{kind.value: done})])

    def _create_version(self, request: CreateTableVersionRequest) -> TableVersion:
        ref = self.backend.locate(request)
        with translated(f"create version {request.version} of table {ref.name!r}"):
            store = self.backend.versions_of(ref, request.branch)
            return store.describe(store.create(request))


def _only(batch: Sequence[Part], about: str) -> Part:
    """The one part of a batch; several happen together only in a catalog that keeps the versions itself."""
    if len(batch) != 1:
        raise (UnsupportedOperationError if batch else InvalidInputError)(
            f"{about.format(len(batch))}: this catalog changes one table at a time, so all or none cannot be promised; "
            "send one, or use a catalog that manages versions"
        )
    return batch[0]


def _stored(ref: TableLocation) -> TableLocation:
    """The table as storage has it: Lance may be asking because it is opening the table, which must come to an end."""
    return replace(ref, versions=None)


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


def part_of(operation: CommitTableOperation, position: int) -> tuple[BatchPart, Any]:
    """The kind of an operation of a batch, and the request for it.

    Raises:
        InvalidInputError: It is none, or several at once.
    """
    given = [(kind, getattr(operation, kind.value)) for kind in BatchPart if getattr(operation, kind.value) is not None]
    if len(given) != 1:
        raise InvalidInputError(
            f"operations[{position}] must be exactly one of {', '.join(kind.value for kind in BatchPart)}"
        )
    return given[0]

"""Versions: listing, describing, restoring, and committing them for clients that let the catalog do it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from lance_namespace import (
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    InvalidInputError,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
    RestoreTableRequest,
    RestoreTableResponse,
    TableVersion,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)

from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, TableRef, name_of, transaction_id
from lancespace.tables.commits import StoredVersions
from lancespace.tables.manifests import ManifestDirectory
from lancespace.tables.paging import page
from lancespace.tables.pruning import delete_versions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lancespace.tables.manifests import Manifest


class VersionStore(Protocol):
    """Where the versions of a table's branch are kept: in storage, or by a catalog."""

    def all(self, *, descending: bool = False) -> Iterable[Manifest]:
        """All versions, oldest first unless asked otherwise; none of a declared table."""

    def find(self, version: int | None) -> Manifest | None:
        """One version, or the latest."""

    def create(self, request: CreateTableVersionRequest) -> Manifest:
        """The next version, from a staged manifest; the same again if this very request has made it."""

    def delete(self, manifests: Iterable[Manifest]) -> int:
        """Delete versions, and say how many."""

    def describe(self, manifest: Manifest) -> TableVersion:
        """The spec's view of a version."""


class VersionOperations(TableAccess):
    """The version operations; a backend that keeps versions itself answers another store for its tables."""

    def versions_of(self, ref: TableRef, branch: str | None) -> VersionStore:
        """Where the versions of a table's branch are."""
        storage = self.storage_for(ref)
        return StoredVersions(ManifestDirectory(ref, branch, storage), storage)

    @hookimpl
    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """The versions, oldest first unless asked otherwise; a declared table has none."""
        ref = self.locate(request)
        descending = bool(request.descending)
        with translated(f"list the versions of table {ref.name!r}"):
            store = self.versions_of(ref, request.branch)
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
        ref = self.locate(request)
        with translated(f"describe a version of table {ref.name!r}"):
            store = self.versions_of(ref, request.branch)
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
        dataset = self.open(request)
        with translated(f"restore version {request.version} of table {name_of(request)!r}"):
            dataset.restore()
            return RestoreTableResponse(transaction_id=transaction_id(dataset))

    @hookimpl
    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        """Publish a staged manifest as the next version; see :func:`lancespace.tables.commits.commit_manifest`."""
        return CreateTableVersionResponse(version=self._create_version(request))

    @hookimpl
    def batch_create_table_versions(self, request: BatchCreateTableVersionsRequest) -> BatchCreateTableVersionsResponse:
        """A batch of one; several tables change together only in a catalog that keeps the versions itself."""
        if len(request.entries) != 1:
            raise (UnsupportedOperationError if request.entries else InvalidInputError)(
                f"batch_create_table_versions got {len(request.entries)} entries: storage publishes one version at a "
                "time, so all or none cannot be promised; send one entry, or use a catalog that manages versions"
            )
        created = self._create_version(CreateTableVersionRequest(**request.entries[0].model_dump()))
        return BatchCreateTableVersionsResponse(versions=[created])

    @hookimpl
    def batch_delete_table_versions(self, request: BatchDeleteTableVersionsRequest) -> BatchDeleteTableVersionsResponse:
        """Delete old versions by ranges; see :func:`lancespace.tables.pruning.delete_versions`."""
        ref = self.locate(request)
        dataset = ref.open(branch=request.branch)
        with translated(f"delete versions of table {ref.name!r}"):
            deleted = delete_versions(self.versions_of(ref, request.branch), dataset, request)
        return BatchDeleteTableVersionsResponse(deleted_count=deleted)

    def _create_version(self, request: CreateTableVersionRequest) -> TableVersion:
        ref = self.locate(request)
        with translated(f"create version {request.version} of table {ref.name!r}"):
            store = self.versions_of(ref, request.branch)
            return store.describe(store.create(request))


def _stored(ref: TableRef) -> TableRef:
    """The table as storage has it: Lance may be asking because it is opening the table, which must come to an end."""
    return replace(ref, versions=None)

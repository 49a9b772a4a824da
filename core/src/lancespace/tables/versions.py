"""Versions: listing, describing, restoring, and committing them for clients that let the catalog do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from lancespace.tables.commits import commit_manifest
from lancespace.tables.manifests import ManifestDirectory
from lancespace.tables.paging import page
from lancespace.tables.pruning import delete_versions

if TYPE_CHECKING:
    from lancespace.tables.manifests import Manifest


class VersionOperations(TableAccess):
    """The version operations of tables whose versions are what is in storage."""

    @hookimpl
    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """The versions, oldest first unless asked otherwise; a declared table has none."""
        ref = self.locate(request)
        with translated(f"list the versions of table {ref.name!r}"):
            directory, manifests = self._manifests(ref, request.branch)
        shown, token = page(
            reversed(manifests) if request.descending else manifests,
            lambda manifest: manifest.version,
            request.page_token,
            request.limit,
            descending=bool(request.descending),
        )
        return ListTableVersionsResponse(versions=[directory.describe(one) for one in shown], page_token=token)

    @hookimpl
    def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
        """One version, by default the latest."""
        ref = self.locate(request)
        with translated(f"describe a version of table {ref.name!r}"):
            directory, manifests = self._manifests(ref, request.branch)
            if not manifests:
                ref.open()
            wanted = manifests[-1].version if request.version is None else request.version
            found = next((manifest for manifest in manifests if manifest.version == wanted), None)
        if found is None:
            raise TableVersionNotFoundError(f"table {ref.name!r} has no version {wanted}: see list_table_versions")
        return DescribeTableVersionResponse(version=directory.describe(found))

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
            directory = ManifestDirectory(ref, request.branch, self.storage_for(ref))
            return BatchDeleteTableVersionsResponse(deleted_count=delete_versions(directory, dataset, request))

    def _create_version(self, request: CreateTableVersionRequest) -> TableVersion:
        ref = self.locate(request)
        storage = self.storage_for(ref)
        with translated(f"create version {request.version} of table {ref.name!r}"):
            directory = ManifestDirectory(ref, request.branch, storage)
            return directory.describe(commit_manifest(directory, storage, request))

    def _manifests(self, ref: TableRef, branch: str | None) -> tuple[ManifestDirectory, list[Manifest]]:
        directory = ManifestDirectory(ref, branch, self.storage_for(ref))
        manifests = directory.list()
        if not manifests and branch is not None:
            ref.latest(branch)  # Says so if there is no such branch.
        return directory, manifests

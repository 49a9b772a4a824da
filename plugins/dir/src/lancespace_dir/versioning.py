"""The operations on versions, where some tables are managed, and the batches that they make possible."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsResponse,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DeclareTableResponse,
    DeregisterTableResponse,
)
from lance_namespace_urllib3_client.models.commit_table_result import CommitTableResult

from lancespace import hookimpl
from lancespace.backends import TableBackend
from lancespace.tables import batches as kinds
from lancespace.tables.access import MAIN_BRANCH, TableRef
from lancespace_dir.batches import Batch
from lancespace_dir.steps import CreateVersion, Declare, DeleteVersions, Deregister
from lancespace_dir.v2 import ManifestCatalog

if TYPE_CHECKING:
    from lancespace.tables.versions import VersionStore
    from lancespace_dir.batches import Step
    from lancespace_dir.catalogs import Catalog, Names, Place

_STEPS: dict[str, type[Any]] = {
    kinds.DECLARE: Declare,
    kinds.CREATE_VERSION: CreateVersion,
    kinds.DELETE_VERSIONS: DeleteVersions,
    kinds.DEREGISTER: Deregister,
}
_SEVERAL = 2


class VersioningBackend(TableBackend):
    """What the directory backend does with versions beyond what is in storage."""

    catalog: Catalog

    @abstractmethod
    def ref(self, names: Names, place: Place) -> TableRef:
        """A table with the options that open it."""

    @abstractmethod
    def declared(self, request: Any, place: Place) -> DeclareTableResponse:
        """The answer for a table that was declared."""

    @abstractmethod
    def deregistered(self, request: Any, place: Place) -> DeregisterTableResponse:
        """The answer for a table that was deregistered."""

    def versions_of(self, ref: TableRef, branch: str | None) -> VersionStore:
        """The manifest's versions of a managed table; those of branches are in storage."""
        if ref.versions is not None and branch in {None, MAIN_BRANCH} and isinstance(self.catalog, ManifestCatalog):
            return self.catalog.managed.of(ref)
        return super().versions_of(ref, branch)

    @hookimpl
    def batch_create_table_versions(self, request: BatchCreateTableVersionsRequest) -> BatchCreateTableVersionsResponse:
        """Make versions of several managed tables, in one commit of the manifest."""
        if len(request.entries) < _SEVERAL or not isinstance(self.catalog, ManifestCatalog):
            return super().batch_create_table_versions(request)
        parts = [(kinds.CREATE_VERSION, CreateTableVersionRequest(**entry.model_dump())) for entry in request.entries]
        done = self._commit_batch(self.catalog, parts)
        return BatchCreateTableVersionsResponse(versions=[each.version for each in done])

    @hookimpl
    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse:
        """Change several tables in one commit of the manifest."""
        if len(request.operations) < _SEVERAL or not isinstance(self.catalog, ManifestCatalog):
            return super().batch_commit_tables(request)
        parts = [kinds.part_of(operation, position) for position, operation in enumerate(request.operations)]
        done = self._commit_batch(self.catalog, parts)
        results = [CommitTableResult(**{kind: each}) for (kind, _), each in zip(parts, done, strict=True)]
        return BatchCommitTablesResponse(results=results)

    def _commit_batch(self, catalog: ManifestCatalog, parts: list[tuple[str, Any]]) -> list[Any]:
        """Commit a batch, and answer for each part."""
        steps = [(kind, _STEPS[kind](part)) for kind, part in parts]
        results = Batch(catalog, self.ref).commit(steps)
        rows = zip(parts, steps, results, strict=True)
        return [self._answer(kind, part, step, result) for (kind, part), (_, step), result in rows]

    def _answer(self, kind: str, part: Any, step: Step, result: Any) -> Any:
        if isinstance(step, CreateVersion):
            return CreateTableVersionResponse(version=step.versions.describe(result.manifest))
        if isinstance(step, DeleteVersions):
            return BatchDeleteTableVersionsResponse(deleted_count=len(result))
        return self.declared(part, result) if kind == kinds.DECLARE else self.deregistered(part, result)

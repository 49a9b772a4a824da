"""Commits that go right on top of the version that they were made for, or not at all.

Lance puts a commit on top of whatever others have committed meanwhile, unless both change the same fragments. That is
too kind where it matters what others have added: rows with the same keys, or the same batch once more. pylance has no
setting for it. But it leaves it to a catalog that keeps the versions itself to make the next one; so here it commits
through a gate that lets one number pass. Where storage keeps the versions, what is behind the gate is its own rule:
of all who write the manifest of a version, one succeeds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import lance
from lance.dataset import Transaction
from lance_namespace import (
    ConcurrentModificationError,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    InternalError,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
    TableAlreadyExistsError,
    TableVersionNotFoundError,
)

from lancespace import Namespace
from lancespace.authoring import translate
from lancespace_jobs._table_spec import TableSpec
from lancespace_tables import StoredVersions, TableLocation, VersionClient


def commit_next(handle: TableSpec, transaction: Transaction) -> int:
    """Commit a transaction as the version right after the one that it has read, and answer its number.

    Raises:
        ConcurrentModificationError: If others have committed since then; nothing has happened.
        InternalError: If this process was paused so long that it is unknown whether the commit was made.
    """
    place = handle.place()
    stored = StoredVersions(place, None, handle.storage(place))
    versions: _Versions = place.versions or _StoredTable(stored)
    gate = _Gate(handle.namespace, versions, transaction.read_version)
    try:
        done = lance.LanceDataset.commit(
            place.location,
            transaction,
            storage_options=dict(place.storage_options),
            max_retries=0,
            namespace_client=VersionClient(gate),
            table_id=list(handle.id),
            namespace_client_managed_versioning=True,
        )
    except Exception as error:
        if gate.unknown is not None:
            raise gate.unknown from error
        if gate.refused is None:
            raise translate(error, about=f"commit to table {handle.name!r}") from error
        stored.delete_if_there(stored.name_of_staged(gate.refused))  # Lance keeps it, as it cannot know.
        raise ConcurrentModificationError(
            f"others have committed to table {handle.name!r} since version {transaction.read_version}"
        ) from error
    version: int = done.version
    return version


class _Versions(Protocol):
    """Who keeps the versions of a table; a catalog that does so is one."""

    def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
        """One version."""

    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        """Make the next one."""


class _Gate:
    """The catalog that Lance commits to: it knows one version, and makes the one after that."""

    def __init__(self, namespace: Namespace, versions: _Versions, base: int) -> None:
        self._namespace = namespace
        self._versions = versions
        self._base = base
        self.refused: str | None = None
        """The staged manifest that others were faster than, if they were."""
        self.unknown: InternalError | None = None
        """Why nobody knows whether the commit was made; Lance takes that for a conflict."""

    def operation(self, name: str) -> Callable[..., Any]:
        """One of the operations below, as a backend has them."""
        found: Callable[..., Any] = getattr(self, name)
        return found

    def namespace_id(self) -> str:
        return self._namespace.namespace_id()

    def describe_table(self, request: Any) -> Any:
        return self._namespace.describe_table(request)

    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """Lance asks for the latest. It looks for later ones by itself, and then asks for another number."""
        known = DescribeTableVersionRequest(id=request.id, version=self._base)
        return ListTableVersionsResponse(versions=[self._versions.describe_table_version(known).version])

    def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
        """Lance asks whose version it is after a refusal: an answer may have been lost."""
        return self._versions.describe_table_version(request)

    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        if request.version != self._base + 1:
            self.refused = request.manifest_path
            raise ConcurrentModificationError(f"version {request.version} is not the one after {self._base}")
        try:
            return self._versions.create_table_version(request)
        except ConcurrentModificationError:
            self.refused = request.manifest_path
            raise
        except InternalError as error:
            self.unknown = error
            raise


class _StoredTable:
    """A table whose versions are what is in storage."""

    def __init__(self, store: StoredVersions) -> None:
        self._store = store

    def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
        found = self._store.find(request.version)
        if found is None:
            raise TableVersionNotFoundError(f"there is no version {request.version}")
        return DescribeTableVersionResponse(version=self._store.describe(found))

    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        return CreateTableVersionResponse(version=self._store.describe(self._store.create(request)))


_REFUSALS = (ConcurrentModificationError, TableAlreadyExistsError, TableVersionNotFoundError)
"""What Lance says of a first version where there is one: it looks for the version before that, which never was."""


def commit_first(place: TableLocation, operation: Any) -> Any:
    """Make the first version of a table.

    Raises:
        ConcurrentModificationError: If it has one; nothing was committed.
    """
    try:
        return lance.LanceDataset.commit(
            place.location, operation, storage_options=dict(place.storage_options), max_retries=0, **place.committing()
        )
    except OSError as error:
        failure = translate(error, about=f"create table {place.name!r}")
        if not isinstance(failure, _REFUSALS):
            raise failure from error
        raise ConcurrentModificationError(
            f"the table {place.name!r} was created by another caller at the same time: write again to add to theirs"
        ) from error

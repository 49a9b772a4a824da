"""Several changes in one commit of the manifest: all of them happen, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    CreateTableVersionRequest,
    DeclareTableRequest,
    DeregisterTableRequest,
    LanceNamespaceError,
    UnsupportedOperationError,
)

from lancespace.authoring import identifiers
from lancespace_dir import mutations, versionrows
from lancespace_dir.catalogs import CatalogEntry, Names
from lancespace_dir.managed_versions import Commit, after_commit
from lancespace_dir.versionrows import MANAGEMENT
from lancespace_tables import MAIN_BRANCH, BatchPart, name_of, refuse_needed, to_delete

if TYPE_CHECKING:
    from lancespace_dir.managed_versions import ManagedVersions
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest_catalog import ManifestCatalog
    from lancespace_dir.versionrows import Version
    from lancespace_tables import Manifest, TableLocation

Part = tuple[BatchPart, Any]
"""The kind of an operation, and its request."""
Open = Callable[[Names, CatalogEntry], "TableLocation"]


class Step(Protocol):
    """One operation of a batch. Making one refuses all that can be refused before the commit."""

    def apply(self, draft: Draft) -> Any:
        """Change the draft, in which the operations before are done; this may run more than once."""

    def finish(self, result: Any) -> None:
        """Do what follows from the commit; what a crash leaves of it, readers complete."""

    def undo(self) -> None:
        """Take back what was prepared, because there is no commit."""


class Batch:
    """The operations of a batch, in order."""

    def __init__(self, catalog: ManifestCatalog, open_table: Open) -> None:
        self.catalog = catalog
        self.declared: dict[tuple[str, ...], CatalogEntry] = {}
        """Tables that an earlier operation of this batch declares."""
        self._open = open_table

    def commit(self, parts: Sequence[Part]) -> list[tuple[Step, Any]]:
        """Do all of it, and return the steps, each with its result.

        Raises:
            LanceNamespaceError: As the operation that failed does; the message begins with its position.
        """
        steps: list[Step] = []

        def apply(draft: Draft) -> list[Any]:
            results = []
            for position, step in enumerate(steps):
                with _at(position, parts):
                    results.append(step.apply(draft))
            return results

        try:
            for position, (kind, request) in enumerate(parts):
                with _at(position, parts):
                    steps.append(_STEPS[kind](self, request))
            results = self.catalog.manifest.mutate(apply)
        except BaseException:
            for step in reversed(steps):
                step.undo()
            raise
        done = list(zip(steps, results, strict=True))
        for (kind, _), (step, result) in zip(parts, done, strict=True):
            with after_commit(kind.value):
                step.finish(result)
        return done

    def versions(self, request: CreateTableVersionRequest | BatchDeleteTableVersionsRequest) -> ManagedVersions:
        """The versions of a table, if they are kept in the manifest: only then they can change together with others.

        Raises:
            UnsupportedOperationError: They are in storage.
        """
        names = request.id or []
        place = self.declared.get(tuple(names)) or self.catalog.find(names)
        if request.branch not in {None, MAIN_BRANCH}:
            raise UnsupportedOperationError(
                f"the versions of branch {request.branch!r} of table {name_of(request)!r} are in storage, where they "
                "cannot change together with others: send the operation alone"
            )
        if not place.is_managed:
            raise UnsupportedOperationError(
                f"table {name_of(request)!r} keeps its versions in storage, where they cannot change together with "
                f"others: send the operation alone, or register the table again with mode='overwrite' and the property "
                f"{MANAGEMENT}=true"
            )
        return self.catalog.managed.of(self._open(names, place))


class Declare(Step):
    """Enter a table."""

    def __init__(self, batch: Batch, request: DeclareTableRequest) -> None:
        self._catalog = batch.catalog
        self._names: Names = request.id or []
        self._location = request.location
        self._place = self._catalog.place_for(self._names, self._location, request.properties or {})
        is_chosen = self._location is not None
        self._stored = self._catalog.managed.stored(self._names, self._place) if is_chosen else []
        self._has_files = is_chosen and self._catalog.has_files(self._place)
        batch.declared[tuple(self._names)] = self._place

    def apply(self, draft: Draft) -> CatalogEntry:
        """Enter the row."""
        mutations.enter_table(draft, self._names, self._place, versions=self._stored)
        return self._place

    def finish(self, result: CatalogEntry) -> None:
        """Mark the directory."""
        self._catalog.confirm(self._names, result, has_files=self._has_files)
        self._catalog.declared(result, self._location)


class CreateVersion(Commit, Step):
    """Make a version of a managed table."""

    def __init__(self, batch: Batch, request: CreateTableVersionRequest) -> None:
        super().__init__(batch.versions(request), request)
        self.prepare()


class DeleteVersions(Step):
    """Delete versions of a managed table; not those that a tag or a branch needs."""

    def __init__(self, batch: Batch, request: BatchDeleteTableVersionsRequest) -> None:
        self._request = request
        self._versions = batch.versions(request)
        doomed = to_delete(list(self._versions.all()), request)
        refuse_needed(self._versions.ref.open(), request, doomed.keys())

    def apply(self, draft: Draft) -> list[Version]:
        """Take the rows out, of the versions that there are by now."""
        return self._versions.remove(draft, to_delete(self._there(draft), self._request).values())

    def finish(self, result: list[Version]) -> None:
        """Delete the manifests."""
        self._versions.delete_files(result)

    def _there(self, draft: Draft) -> list[Manifest]:
        table_id = self._versions.table_id
        found = (versionrows.find_in(draft, table_id, number) for number in versionrows.numbers_in(draft, table_id))
        return [version.manifest for version in found if version is not None]


class Deregister(Step):
    """Take a table out and leave its data."""

    def __init__(self, batch: Batch, request: DeregisterTableRequest) -> None:
        """Hide a directory that shows the table by itself; while there is a row, the row counts.

        Raises:
            UnsupportedOperationError: The table is nothing but a directory.
        """
        self._names: Names = request.id or []
        self._catalog = batch.catalog
        place, has_row = self._catalog.find_row(self._names)
        if not has_row:
            raise UnsupportedOperationError(
                f"table {identifiers.show(self._names)!r} is only a directory (V1), which cannot change together with "
                "others: send the operation alone, or enter it in the manifest with lancespace_dir.migrate"
            )
        self._catalog.managed.settle(self._names, place)
        is_own = self._catalog.is_own(self._names, place)
        self._hidden = place.location if is_own and self._catalog.listing.hide(place.location) else None

    def apply(self, draft: Draft) -> CatalogEntry:
        """Take the row out."""
        return mutations.take_out_table(draft, self._names)

    def undo(self) -> None:
        """Show the directory again."""
        if self._hidden is not None:
            self._catalog.listing.show(self._hidden)


_STEPS: dict[BatchPart, Callable[[Batch, Any], Step]] = {
    BatchPart.DECLARE: Declare,
    BatchPart.CREATE_VERSION: CreateVersion,
    BatchPart.DELETE_VERSIONS: DeleteVersions,
    BatchPart.DEREGISTER: Deregister,
}


@contextmanager
def _at(position: int, parts: Sequence[Part]) -> Iterator[None]:
    """Say in an error which operation of the batch it is about."""
    try:
        yield
    except LanceNamespaceError as error:
        raise type(error)(f"operation {position} ({parts[position][0].value}): {error}") from error

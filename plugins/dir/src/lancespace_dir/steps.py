"""The operations that a batch can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    CreateTableVersionRequest,
    DeclareTableRequest,
    DeregisterTableRequest,
    UnsupportedOperationError,
)

from lancespace import identifiers
from lancespace.tables.pruning import refuse_needed, to_delete
from lancespace_dir import changes, versionrows
from lancespace_dir.batches import Batch, Step
from lancespace_dir.catalogs import Names, Place
from lancespace_dir.commits import Commit

if TYPE_CHECKING:
    from lancespace.tables.manifests import Manifest
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.versionrows import Version


class Declare(Step):
    """Enter a table."""

    def __init__(self, request: DeclareTableRequest) -> None:
        self._request = request
        self._names: Names = request.id or []

    def prepare(self, batch: Batch) -> None:
        """Choose the place."""
        self._catalog = batch.catalog
        self._place = self._catalog.place_for(self._names, self._request.location, self._request.properties or {})
        is_chosen = self._request.location is not None
        self._stored = self._catalog.managed.stored(self._names, self._place) if is_chosen else []
        self._has_files = is_chosen and self._catalog.has_files(self._place)
        batch.declared[tuple(self._names)] = self._place

    def apply(self, draft: Draft) -> Place:
        """Enter the row."""
        changes.enter_table(draft, self._names, self._place, versions=self._stored)
        return self._place

    def finish(self, result: Place) -> None:
        """Mark the directory."""
        self._catalog.confirm(self._names, result, has_files=self._has_files)
        self._catalog.declared(result, self._request.location)


class CreateVersion(Step):
    """Make a version of a managed table."""

    def __init__(self, request: CreateTableVersionRequest) -> None:
        self._request = request

    def prepare(self, batch: Batch) -> None:
        """Look at the staged manifest."""
        self.versions = batch.versions(self._request)
        self._commit = Commit(self.versions, self._request)
        self._commit.prepare()

    def apply(self, draft: Draft) -> Version:
        """Enter the row."""
        return self._commit.apply(draft)

    def finish(self, result: Version) -> None:
        """Put the manifest in place."""
        self._commit.finish(result)


class DeleteVersions(Step):
    """Delete versions of a managed table."""

    def __init__(self, request: BatchDeleteTableVersionsRequest) -> None:
        self._request = request

    def prepare(self, batch: Batch) -> None:
        """Refuse what a tag or a branch needs."""
        self._versions = batch.versions(self._request)
        doomed = to_delete(list(self._versions.all()), self._request)
        refuse_needed(self._versions.ref.open(), self._request, doomed.keys())

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

    def __init__(self, request: DeregisterTableRequest) -> None:
        self._names: Names = request.id or []
        self._hidden: str | None = None

    def prepare(self, batch: Batch) -> None:
        """Hide a directory that shows the table by itself; while there is a row, that counts.

        Raises:
            UnsupportedOperationError: The table is nothing but a directory.
        """
        self._catalog = batch.catalog
        place, has_row = self._catalog.find_row(self._names)
        if not has_row:
            raise UnsupportedOperationError(
                f"table {identifiers.show(self._names)!r} is only a directory (V1), which cannot change together with "
                "others: send the operation alone, or enter it in the manifest with lancespace_dir.migrate"
            )
        self._catalog.managed.settle(self._names, place)
        if self._catalog.is_own(self._names, place) and self._catalog.listing.hide(place.location):
            self._hidden = place.location

    def apply(self, draft: Draft) -> Place:
        """Take the row out."""
        return changes.take_out_table(draft, self._names)

    def undo(self) -> None:
        """Show the directory again."""
        if self._hidden is not None:
            self._catalog.listing.show(self._hidden)

"""Managed tables: the catalog is the external manifest store of Lance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lancespace_dir import versionrows
from lancespace_dir.catalogs import CatalogEntry, Names
from lancespace_dir.managed_versions import ManagedVersions, ManifestsInPlace
from lancespace_dir.versionrows import MANAGEMENT, Version
from lancespace_tables import TableLocation

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.committer import ManifestTable


class ManagedTables:
    """The managed tables of a catalog."""

    def __init__(self, manifest: ManifestTable, storage: Storage, managing: bool | None) -> None:
        self.manifest = manifest
        self._storage = storage
        self._managing = managing
        self._in_place = ManifestsInPlace()

    def place(
        self,
        location: str,
        properties: Mapping[str, str],
        metadata: Mapping[str, str] | None = None,
        *,
        is_new: bool = False,
    ) -> CatalogEntry:
        """The place of a new table: managed if its properties say so, or the connection's, or the catalog.

        Who does not give the catalog's metadata lets them be looked up.
        """
        own, wanted = versionrows.split(properties)
        if wanted is None:
            wanted = self._is_default(metadata) if self._managing is None else self._managing
        return CatalogEntry(location, own, wanted, is_new=is_new)

    def entered(self, place: CatalogEntry) -> None:
        """Have new tables managed whoever creates them, if that is how this connection creates them.

        Lance commits the mark. If it was paused for long before it did, the mark may be at a version that nobody reads.
        """
        while place.is_managed and self._managing and not self._is_default():
            with self.manifest.reading() as reader:
                table = reader.open_latest()
            try:
                table.update_metadata({MANAGEMENT: "true"})
            except OSError:
                if not self._is_default():  # Somebody else was faster.
                    raise

    def stored(self, names: Names, place: CatalogEntry) -> list[Version]:
        """The versions that a table which is to be managed has in storage already: they count from now on."""
        return [Version(manifest) for manifest in self._of(names, place).directory.list()] if place.is_managed else []

    def settle(self, names: Names, place: CatalogEntry) -> None:
        """See that storage has all of a managed table, before the catalog forgets it."""
        versions = self._of(names, place)
        latest = versions.latest() if place.is_managed else None
        if latest is not None:
            versions.settle(latest)

    def of(self, ref: TableLocation) -> ManagedVersions:
        """The versions of one table."""
        return ManagedVersions(self.manifest, self._storage, ref, self._in_place)

    def _of(self, names: Names, place: CatalogEntry) -> ManagedVersions:
        return self.of(TableLocation(tuple(names), self._storage.uri(place.location), {}))

    def _is_default(self, metadata: Mapping[str, str] | None = None) -> bool:
        if metadata is None:
            with self.manifest.reading() as reader:
                metadata = reader.metadata
        return metadata.get(MANAGEMENT) == "true"

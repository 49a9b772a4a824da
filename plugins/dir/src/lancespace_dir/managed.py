"""Managed tables: the catalog is the external manifest store of Lance."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from lancespace.tables.access import TableRef
from lancespace.tables.manifests import ManifestDirectory
from lancespace_dir import versionrows
from lancespace_dir.catalogs import Names, Place
from lancespace_dir.managedversions import ManagedVersions
from lancespace_dir.versionrows import MANAGEMENT, Version

if TYPE_CHECKING:
    from lancespace.storage import Storage
    from lancespace_dir.manifest.committer import Manifest

_REMEMBERED = 10_000
"""So many manifests are known to be in place without looking."""


class ManagedTables:
    """The managed tables of a catalog."""

    def __init__(self, manifest: Manifest, storage: Storage, managing: bool | None) -> None:
        self.manifest = manifest
        self._storage = storage
        self._managing = managing
        self._in_place: dict[str, None] = {}

    def place(
        self,
        location: str,
        properties: Mapping[str, str],
        metadata: Mapping[str, str] | None = None,
        *,
        is_new: bool = False,
    ) -> Place:
        """The place of a new table: managed if its properties say so, or the connection's, or the catalog.

        Who does not give the catalog's metadata lets them be looked up.
        """
        own, wanted = versionrows.split(properties)
        if wanted is None:
            wanted = self._is_default(metadata) if self._managing is None else self._managing
        return Place(location, own, wanted, is_new=is_new)

    def entered(self, place: Place) -> None:
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

    def stored(self, names: Names, place: Place) -> list[Version]:
        """The versions that a table which is to be managed has in storage already: they count from now on."""
        return [Version(manifest) for manifest in self._of(names, place).directory.list()] if place.is_managed else []

    def settle(self, names: Names, place: Place) -> None:
        """See that storage has all of a managed table, before the catalog forgets it."""
        versions = self._of(names, place)
        latest = versions.latest() if place.is_managed else None
        if latest is not None:
            versions.settle(latest)

    def of(self, ref: TableRef) -> ManagedVersions:
        """The versions of one table."""
        return ManagedVersions(self, ManifestDirectory(ref, None, self._storage), ref)

    def _of(self, names: Names, place: Place) -> ManagedVersions:
        return self.of(TableRef(tuple(names), self.uri(place), {}))

    def _is_default(self, metadata: Mapping[str, str] | None = None) -> bool:
        if metadata is None:
            with self.manifest.reading() as reader:
                metadata = reader.metadata
        return metadata.get(MANAGEMENT) == "true"

    def uri(self, place: Place) -> str:
        """The location of a table as pylance takes it."""
        return self._storage.uri(place.location)

    def knows(self, version: Version) -> bool:
        """Whether the manifest of a version is known to be in place; its digest stands for no other."""
        return version.digest is None or version.digest in self._in_place

    def remember(self, version: Version) -> None:
        """Do not look for this manifest again."""
        if version.digest is not None:
            self._in_place[version.digest] = None
        for oldest in list(islice(self._in_place, max(0, len(self._in_place) - _REMEMBERED))):
            self._in_place.pop(oldest, None)

    def forget(self, version: Version) -> None:
        """Look for this manifest again."""
        self._in_place.pop(version.digest or "", None)

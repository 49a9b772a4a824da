"""The catalog as a check finds it: the rows of the manifest, what is in storage, and how old both are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lance_namespace import UnsupportedOperationError

from lancespace.authoring import aware
from lancespace_dir.listing import Listing
from lancespace_dir.manifest.schema import DIRECTORY, Entry, quoted
from lancespace_dir.manifest.segments import whole
from lancespace_dir.manifest_catalog import ManifestCatalog

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace.authoring import Storage

_DIGITS = 20


class Look:
    """The catalog as it is now: the rows of the manifest, and what is in storage."""

    def __init__(self, backend: Any, older_than: timedelta, now: datetime | None = None) -> None:
        catalog = backend.catalog
        self.catalog = catalog
        self.storage: Storage = backend.storage
        self._now = now or datetime.now(timezone.utc)
        self._oldest = self._now - older_than
        self._has_manifest = isinstance(catalog, ManifestCatalog)
        self.listing = Listing(self.storage, beside_manifest=self._has_manifest)
        self.shows_v1 = catalog.with_v1 if self._has_manifest else True

    @cached_property
    def names(self) -> set[str]:
        """What is in the root."""
        names = self.contents("")
        if not self._has_manifest and DIRECTORY in names:
            raise UnsupportedOperationError(
                "This catalog has a manifest, and without it nobody can tell what belongs to it: connect with "
                "manifest_enabled=true to check it."
            )
        return names

    @cached_property
    def entries(self) -> list[Entry]:
        """The rows of the manifest, read after the names: a table has its row before it has files."""
        return all_rows(self.catalog) if self.names and self._has_manifest else []

    def contents(self, location: str) -> set[str]:
        """What is at a location below the root."""
        path = self.path(location)
        try:
            found = [str(entry).rstrip("/") for entry in self.storage.filesystem.ls(path, detail=False)]
        except (FileNotFoundError, NotADirectoryError):
            return set()
        return {entry.rpartition("/")[2] for entry in found if entry != path}

    def is_old(self, location: str) -> bool:
        """Whether nothing below a location is younger than what is to be spared."""
        path = self.path(location)
        files = self.storage.filesystem.find(path) or [path]
        return all(self.modified(file) < self._oldest for file in files)

    def is_older(self, location: str, days: int) -> bool:
        """Whether all files below a location are older than ``days``."""
        oldest = self._now - timedelta(days=days)
        return all(self.modified(file) < oldest for file in self.storage.filesystem.find(self.path(location)))

    def modified(self, path: str) -> datetime:
        """When the store says that a file was written; one that is gone meanwhile is nothing to go by."""
        try:
            return aware(self.storage.filesystem.modified(path))
        except FileNotFoundError:
            return self._now

    def path(self, location: str) -> str:
        """A location below the root as a path of the file system."""
        return f"{self.storage.path()}/{location}" if location else self.storage.path()

    def old_rows(self, entries: Collection[Entry]) -> set[Entry]:
        """Those of some rows that were in the manifest all the time that is spared, by the times of its files.

        A row that was taken out and entered again is new, also if it says the same.
        """
        if not entries:
            return set()
        with self.catalog.manifest.reading() as reader:
            table = reader.open_latest()
        where = f"object_id IN ({', '.join(quoted(entry.object_id) for entry in entries)})"
        in_old_files = [part.to_table(filter=where) for part in table.get_fragments() if self._is_old_fragment(part)]
        old = set(entries).intersection(entry for rows in in_old_files for entry in _entries(rows))
        versions = self._spared_versions() if len(old) < len(set(entries)) else []
        found = [set(_entries(table.checkout_version(number).to_table(filter=where))) for number in versions]
        return old.union(set(entries).intersection(*found) if found else ())

    def _is_old_fragment(self, fragment: Any) -> bool:
        folder = self.path(f"{DIRECTORY}/data")
        return all(self.modified(f"{folder}/{file.path}") < self._oldest for file in fragment.metadata.files)

    def _spared_versions(self) -> list[int]:
        """The newest version of the manifest that is old enough, and all after it; none if one of them is gone."""
        names = [name for name in self.contents(f"{DIRECTORY}/_versions") if name.endswith(".manifest")]
        numbered = sorted((_number(name), self.path(f"{DIRECTORY}/_versions/{name}")) for name in names)
        count = bisect_left(numbered, True, key=lambda one: self.modified(one[1]) >= self._oldest)
        found = [number for number, _ in numbered[max(count - 1, 0) :]]
        is_whole = count and found[-1] - found[0] == len(found) - 1
        return found if is_whole else []


def all_rows(catalog: ManifestCatalog) -> list[Entry]:
    """Every row of the manifest, also those that others hide."""
    with catalog.manifest.reading() as reader:
        if reader.dataset is None:
            return []
        return _entries(reader.dataset.to_table())


def _entries(rows: pa.Table) -> list[Entry]:
    return whole("", rows).entries(list(range(rows.num_rows)))


def _number(name: str) -> int:
    """The number of a version's file, in either of the two ways that Lance names them."""
    digits = name.partition(".")[0]
    return int(digits) if len(digits) < _DIGITS else (1 << 64) - 1 - int(digits)

"""The versions of a managed table: rows of the manifest, and the files that Lance reads.

A commit is a row in the manifest, entered by compare-and-swap; whoever enters it has made the version. Then the staged
manifest is copied to its final name in ``_versions``, where the Lance SDK expects it. If the committer dies in
between, the next reader does that: the row says which file it is. The staged manifest stays until the next version is
in place.

A manifest in ``_versions`` that no row stands for was put there by a write that bypassed the catalog. It does not
count. Since Lance would commit on top of it, it is set aside, under a name that Lance does not look at, as soon as
somebody opens the table.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError, TableVersion

from lancespace import identifiers
from lancespace.tables.access import TableRef
from lancespace.tables.manifests import Manifest, ManifestDirectory, manifest_name
from lancespace_dir import changes, versionrows
from lancespace_dir.commits import Commit, after_commit
from lancespace_dir.versionrows import Version

if TYPE_CHECKING:
    from lance_namespace import CreateTableVersionRequest

    from lancespace_dir.managed import ManagedTables
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader

_log = logging.getLogger(__name__)

_FIRST = 2
"""The rows that are read at once: the latest, and one more to tell whether there are others."""


class ManagedVersions:
    """The versions of one managed table, as :class:`lancespace.tables.versions.VersionStore` has it."""

    def __init__(self, tables: ManagedTables, directory: ManifestDirectory, ref: TableRef) -> None:
        self.ref = ref
        self.directory = directory
        self.table_id = identifiers.join(list(ref.id))
        self._tables = tables

    def all(self, *, descending: bool = False) -> Iterator[Manifest]:
        """All versions. Who opens the table asks for the first; more rows are read as they are needed."""
        with self._tables.manifest.reading() as reader:
            numbers = versionrows.numbers_in(reader, self.table_id)
            rest = iter(reversed(numbers) if descending else numbers)
            latest = versionrows.find_in(reader, self.table_id, numbers[-1]) if numbers else None
            found = self._manifests(reader, islice(rest, _FIRST))
        if latest is not None:
            self.settle(latest)
        self.set_aside_bypasses(latest)
        yield from found
        size = _FIRST
        while chunk := list(islice(rest, size := 4 * size)):
            with self._tables.manifest.reading() as reader:
                found = self._manifests(reader, chunk)
            yield from found

    def find(self, version: int | None) -> Manifest | None:
        """One version, or the latest."""
        found = self.latest() if version is None else self._find(version)
        if found is None:
            return None
        self.settle(found)
        return found.manifest

    def latest(self) -> Version | None:
        """The latest version."""
        with self._tables.manifest.reading() as reader:
            numbers = versionrows.numbers_in(reader, self.table_id)
            return versionrows.find_in(reader, self.table_id, numbers[-1]) if numbers else None

    def create(self, request: CreateTableVersionRequest) -> Manifest:
        """The next version: the row, and then the file."""
        commit = Commit(self, request)
        commit.prepare()
        made = self._tables.manifest.mutate(commit.apply)
        with after_commit(f"version {made.number} of table {self.ref.name!r}"):
            commit.finish(made)
        return made.manifest

    def delete(self, manifests: Iterable[Manifest]) -> int:
        """Take versions out of the catalog, and then delete their files."""
        doomed = list(manifests)
        gone = self._tables.manifest.mutate(lambda draft: self.remove(draft, doomed))
        self.delete_files(gone)
        return len(gone)

    def need_table(self, draft: Draft) -> None:
        """Raise an error if the table is not what it was: dropped, or dropped and created again."""
        entry = changes.need_table(draft, list(self.ref.id))
        place = changes.place_of(entry)
        if not place.is_managed or self._tables.uri(place) != self.ref.location:
            raise ConcurrentModificationError(
                f"table {self.ref.name!r} was replaced by another one at the same time: open it again"
            )

    def remove(self, draft: Draft, manifests: Iterable[Manifest]) -> list[Version]:
        """Take out those of the versions that are still there, and not those of another table in their place."""
        self.need_table(draft)
        found = [(versionrows.find_in(draft, self.table_id, manifest.version), manifest) for manifest in manifests]
        gone = [version for version, manifest in found if version is not None and version.manifest == manifest]
        for version in gone:
            draft.remove(versionrows.row_id(self.table_id, version.number))
        return gone

    def delete_files(self, gone: Iterable[Version]) -> None:
        """Delete the manifests of versions that no longer count."""
        for version in gone:
            for name in (version.manifest.name, version.staged):
                if name is not None:
                    self.directory.delete_if_there(name)

    def describe(self, manifest: Manifest) -> TableVersion:
        """The spec's view of a version."""
        return self.directory.describe(manifest)

    def settle(self, version: Version) -> None:
        """See that the manifest of a version is in place, and that of any before it, which a dead committer left."""
        waiting: list[Version] = []
        below: Version | None = version
        while below is not None and not self._is_in_place(below):
            waiting.append(below)
            below = self._find(below.number - 1)
        for each in reversed(waiting):
            self.put_in_place(each)

    def put_in_place(self, version: Version) -> None:
        """Copy a staged manifest to its final name; if it is gone, somebody else has done it."""
        if version.staged is not None:
            with suppress(FileNotFoundError):
                self.directory.copy(version.staged, version.manifest.name)
        self._tables.remember(version)

    def set_aside_bypasses(self, latest: Version | None) -> bool:
        """Rename the manifests above the latest version, and say whether there were any.

        A commit enters its row before its file appears, so a file that was seen before the rows were read and has no
        row is none of ours. A commit may be made just then, whose file has the same name: that is put back.
        """
        if latest is not None:
            following = manifest_name(latest.number + 1, latest.manifest.naming_scheme)
            if not self.directory.exists(following):
                return False
        listed = self.directory.list()
        counted = max(self._numbers(), default=0)
        strays = [manifest for manifest in listed if manifest.version > counted]
        for stray in reversed(strays):
            self._set_aside(stray)
        for number in (number for number in self._numbers() if strays and number > counted):
            version = self._find(number)
            if version is not None:
                self._tables.forget(version)
                self.settle(version)
        return bool(strays)

    def _set_aside(self, stray: Manifest) -> None:
        name = f"{stray.name}-bypassed-{uuid.uuid4().hex}"
        try:
            self.directory.move(stray.name, name)
        except FileNotFoundError:
            return  # Somebody else was faster.
        except OSError:
            _log.warning("A write to %r bypassed the catalog, and cannot be set aside", self.ref.name, exc_info=True)
            return
        _log.warning(
            "A write to table %r bypassed the catalog, so it does not count: its version %d was set aside as %r",
            self.ref.name,
            stray.version,
            name,
        )

    def _is_in_place(self, version: Version) -> bool:
        if self._tables.knows(version):
            return True
        try:
            content = self.directory.read(version.manifest.name)
        except FileNotFoundError:
            return False
        is_it = hashlib.sha256(content).hexdigest() == version.digest
        if is_it:
            self._tables.remember(version)
        return is_it

    def _manifests(self, reader: ManifestReader, numbers: Iterable[int]) -> list[Manifest]:
        found = (versionrows.find_in(reader, self.table_id, number) for number in numbers)
        return [version.manifest for version in found if version is not None]

    def _numbers(self) -> list[int]:
        with self._tables.manifest.reading() as reader:
            return versionrows.numbers_in(reader, self.table_id)

    def _find(self, number: int) -> Version | None:
        with self._tables.manifest.reading() as reader:
            return versionrows.find_in(reader, self.table_id, number)

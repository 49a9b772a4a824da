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
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError, TableVersion

from lancespace.authoring import identifiers
from lancespace_dir import mutations, versionrows
from lancespace_dir.versionrows import Version
from lancespace_tables import (
    Manifest,
    ManifestDirectory,
    TableLocation,
    check_next,
    checked,
    made_by_another,
    manifest_name,
    naming_scheme,
    read_staged,
)

if TYPE_CHECKING:
    from lance_namespace import CreateTableVersionRequest

    from lancespace.authoring import Storage
    from lancespace_dir.manifest.committer import ManifestTable
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest.reader import ManifestReader

_log = logging.getLogger(__name__)

_FIRST = 2
"""The rows that are read at once: the latest, and one more to tell whether there are others."""
_REMEMBERED = 10_000
"""The number of manifests that are known to be in place without looking."""


class ManifestsInPlace:
    """Manifests that are known to be in place, by digest: that stands for no other."""

    def __init__(self) -> None:
        self._digests: dict[str, None] = {}

    def __contains__(self, version: Version) -> bool:
        return version.digest is None or version.digest in self._digests

    def add(self, version: Version) -> None:
        """Do not look for this manifest again."""
        if version.digest is not None:
            self._digests[version.digest] = None
        for oldest in list(islice(self._digests, max(0, len(self._digests) - _REMEMBERED))):
            self._digests.pop(oldest, None)

    def discard(self, version: Version) -> None:
        """Look for this manifest again."""
        self._digests.pop(version.digest or "", None)


class ManagedVersions:
    """The versions of one managed table, as :class:`lancespace_tables._versions.VersionStore` has it."""

    def __init__(self, manifest: ManifestTable, storage: Storage, ref: TableLocation, known: ManifestsInPlace) -> None:
        self.ref = ref
        self.directory = ManifestDirectory(ref, None, storage)
        self.table_id = identifiers.join(list(ref.id))
        self._manifest = manifest
        self._storage = storage
        self._known = known

    def all(self, *, descending: bool = False) -> Iterator[Manifest]:
        """All versions. Who opens the table asks for the first; more rows are read as they are needed."""
        with self._manifest.reading() as reader:
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
            with self._manifest.reading() as reader:
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
        with self._manifest.reading() as reader:
            numbers = versionrows.numbers_in(reader, self.table_id)
            return versionrows.find_in(reader, self.table_id, numbers[-1]) if numbers else None

    def create(self, request: CreateTableVersionRequest) -> Manifest:
        """The next version: the row, and then the file."""
        commit = Commit(self, request)
        commit.prepare()
        made = self._manifest.mutate(commit.apply)
        with after_commit(f"version {made.number} of table {self.ref.name!r}"):
            commit.finish(made)
        return made.manifest

    def delete(self, manifests: Iterable[Manifest]) -> int:
        """Take versions out of the catalog, and then delete their files."""
        doomed = list(manifests)
        gone = self._manifest.mutate(lambda draft: self.remove(draft, doomed))
        self.delete_files(gone)
        return len(gone)

    def need_table(self, draft: Draft) -> None:
        """Raise an error if the table is not what it was: dropped, or dropped and created again."""
        entry = mutations.need_table(draft, list(self.ref.id))
        place = mutations.place_of(entry)
        if not place.is_managed or self._storage.uri(place.location) != self.ref.location:
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
        self._known.add(version)

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
                self._known.discard(version)
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
        if version in self._known:
            return True
        try:
            content = self.directory.read(version.manifest.name)
        except FileNotFoundError:
            return False
        is_it = hashlib.sha256(content).hexdigest() == version.digest
        if is_it:
            self._known.add(version)
        return is_it

    def _manifests(self, reader: ManifestReader, numbers: Iterable[int]) -> list[Manifest]:
        found = (versionrows.find_in(reader, self.table_id, number) for number in numbers)
        return [version.manifest for version in found if version is not None]

    def _numbers(self) -> list[int]:
        with self._manifest.reading() as reader:
            return versionrows.numbers_in(reader, self.table_id)

    def _find(self, number: int) -> Version | None:
        with self._manifest.reading() as reader:
            return versionrows.find_in(reader, self.table_id, number)


@contextmanager
def after_commit(what: str) -> Iterator[None]:
    """Run what follows from a commit: that has happened, whatever fails now, and readers make the rest good."""
    try:
        yield
    except OSError:
        _log.warning("%s is committed; what follows from it is left to the next reader", what, exc_info=True)


class Commit:
    """A request for a version: look at the staged manifest, enter the row, then put the manifest in place."""

    def __init__(self, versions: ManagedVersions, request: CreateTableVersionRequest) -> None:
        self.versions = versions
        self._request = request
        self._staged = versions.directory.name_of_staged(request.manifest_path)
        self._content: bytes | None = None
        self._seen: Version | None = None
        self._before: Version | None = None
        self._is_new = False

    def prepare(self) -> None:
        """Look at what is staged. What was built on a write that bypassed the catalog is refused, and mended.

        Raises:
            ConcurrentModificationError: There was such a write; a repeat finds it gone.
        """
        latest = self._seen = self.versions.latest()
        too_far = self._request.version > (0 if latest is None else latest.number) + 1
        if too_far and self.versions.set_aside_bypasses(latest):
            raise ConcurrentModificationError(
                f"version {self._request.version} of table {self.versions.ref.name!r} is built on a write that "
                "bypassed the catalog and does not count: read the latest version and commit on top of it"
            )
        self._content = read_staged(self.versions.directory, self._staged)

    def apply(self, draft: Draft) -> Version:
        """Enter the row, unless this very commit did before.

        Raises:
            ConcurrentModificationError: Another writer has made this version.
            InvalidInputError: The version would leave a gap, or the staged file is not there or not a manifest.
        """
        self.versions.need_table(draft)
        table_id, number = self.versions.table_id, self._request.version
        existing = versionrows.find_in(draft, table_id, number)
        self._is_new = existing is None
        if existing is not None:
            return self._same(existing)
        latest = max(versionrows.numbers_in(draft, table_id), default=0)
        check_next(latest, self._request)
        self._before = versionrows.find_in(draft, table_id, latest)
        if self._seen is not None and self._seen.number == latest and self._seen != self._before:
            raise made_by_another(self._request)  # The table was dropped and created again at the same place.
        made = self._version(checked(self._content, self._request), self._before)
        versionrows.enter(draft, table_id, [made])
        return made

    def finish(self, made: Version) -> None:
        """Put the manifest in place, and delete the staged one of the version before."""
        if not self._is_new:
            self.versions.settle(made)
            return
        self.versions.put_in_place(made)
        if self._before is not None and self._before.staged is not None:
            self.versions.settle(self._before)
            self.versions.directory.delete_if_there(self._before.staged)

    def _same(self, existing: Version) -> Version:
        is_ours = existing.staged == self._staged and self._digest() in {None, existing.digest}
        if not is_ours:
            raise made_by_another(self._request)
        return existing

    def _version(self, content: bytes, before: Version | None) -> Version:
        scheme = naming_scheme(None if before is None else before.manifest, self._request)
        manifest = Manifest(
            self._request.version,
            manifest_name(self._request.version, scheme),
            len(content),
            modified_millis=time.time_ns() // 1_000_000,
            metadata=self._request.metadata,
        )
        return Version(manifest, self._staged, self._digest())

    def _digest(self) -> str | None:
        return None if self._content is None else hashlib.sha256(self._content).hexdigest()

"""Publishing a staged manifest: how a client commits through the catalog.

Clean-up frees the numbers of old versions. A writer that was paused between its look for the latest version and the put
of the next one may take a number that was freed meanwhile, and no reader ever gets there. Whether it did shows
afterwards: its version is the latest, or the next one after it has files that were first in its version. Nothing else
proves it. The version before may be there all the same, as Lance deletes in no order and spares what is tagged.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

import lance
from lance_namespace import (
    ConcurrentModificationError,
    CreateTableVersionRequest,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    TableVersion,
)

from lancespace.authoring import choose
from lancespace_tables._access import MAIN_BRANCH, name_of
from lancespace_tables._manifests import NAMING_SCHEMES, Manifest, ManifestDirectory, manifest_name

_MAGIC = b"LANC"
"""The last bytes of every Lance file, manifests included."""


class VersionStore(Protocol):
    """Where the versions of a table's branch are kept: in storage, or by a catalog."""

    def all(self, *, descending: bool = False) -> Iterable[Manifest]:
        """All versions, oldest first unless asked otherwise; none of a declared table."""

    def find(self, version: int | None) -> Manifest | None:
        """One version, or the latest."""

    def create(self, request: CreateTableVersionRequest) -> Manifest:
        """The next version, from a staged manifest; the same again if this very request has made it."""

    def delete(self, manifests: Iterable[Manifest]) -> int:
        """Delete versions, and say how many."""

    def describe(self, manifest: Manifest) -> TableVersion:
        """The spec's view of a version."""


class StoredVersions(ManifestDirectory):
    """The versions of a table's branch where they are what is in storage."""

    def all(self, *, descending: bool = False) -> Iterable[Manifest]:
        """All versions, oldest first unless asked otherwise."""
        manifests = self.list()
        return reversed(manifests) if descending else manifests

    def find(self, version: int | None) -> Manifest | None:
        """One version, or the latest."""
        if version is not None:
            return super().find(version)
        manifests = self.list()
        return manifests[-1] if manifests else None

    def delete(self, manifests: Iterable[Manifest]) -> int:
        """Delete versions, and say how many: another caller may be cleaning up, too."""
        return sum(self.delete_if_there(manifest.name) for manifest in manifests)

    def create(self, request: CreateTableVersionRequest) -> Manifest:
        """Copy a staged manifest to its final name, if that is free and next in line, and remove the staged one.

        The same request may be sent again after a lost answer: if the version is there with the staged content, or the
        staged file is gone because this very commit removed it, the answer is the same as the first time.

        Raises:
            ConcurrentModificationError: Another writer has made this version.
            InternalError: The writer was paused so long that it is unknown whether readers will see the version.
            InvalidInputError: The version would leave a gap, or the staged file is not there or not a manifest.
        """
        staged = self.name_of_staged(request.manifest_path)
        manifests = self.list()
        known = {manifest.version: manifest for manifest in manifests}
        base = known.get(request.version - 1)
        if request.version in known:
            return self._already_there(base, known[request.version], staged, request)
        latest = manifests[-1] if manifests else None
        if latest is not None or request.branch in {None, MAIN_BRANCH}:  # A branch starts where it comes from.
            check_next(0 if latest is None else latest.version, request)
        content = checked(read_staged(self, staged), request)
        name = manifest_name(request.version, naming_scheme(latest, request))
        created = Manifest(request.version, name, len(content))
        try:
            self.storage.put_if_absent(self.path(name), content)
        except FileExistsError:
            return self._already_there(base, created, staged, request)
        if not is_followed(self, base, created.version):
            self._take_back(name, content)
            raise _unknown(request)
        self.delete_if_there(staged)
        return created

    def _take_back(self, name: str, content: bytes) -> None:
        """Delete a version that is not the latest, if it is still ours: at worst that is an early clean-up."""
        with suppress(FileNotFoundError):
            if self.read(name) == content:
                self.delete_if_there(name)

    def _already_there(
        self, base: Manifest | None, existing: Manifest, staged: str, request: CreateTableVersionRequest
    ) -> Manifest:
        """The existing version, if it came from the staged manifest of this request.

        A staged file disappears only after it was published, so its absence is the trace of an earlier success.
        """
        content = self.read(existing.name)
        waiting = read_staged(self, staged)
        is_ours = request.manifest_size in {None, len(content)} if waiting is None else waiting == content
        if not is_ours:
            raise made_by_another(request)
        if waiting is not None:
            if not is_followed(self, base, existing.version):
                raise _unknown(request)
            self.delete_if_there(staged)
        return existing


def _unknown(request: CreateTableVersionRequest) -> InternalError:
    return InternalError(
        f"The writer of version {request.version} of table {name_of(request)!r} was paused while others committed and "
        "old versions were deleted: the commit may or may not have been made. Check the table before you repeat it."
    )


def made_by_another(request: CreateTableVersionRequest) -> ConcurrentModificationError:
    """The error for a version that is there and did not come from this request."""
    return ConcurrentModificationError(
        f"version {request.version} of table {name_of(request)!r} was made by another writer: "
        "read the latest version and commit on top of it"
    )


def check_next(latest: int, request: CreateTableVersionRequest) -> None:
    """Refuse what is not latest + 1.

    Raises:
        ConcurrentModificationError: Others have made the version, or later ones.
        InvalidInputError: It would leave a gap.
    """
    if request.version <= latest:
        raise ConcurrentModificationError(
            f"table {name_of(request)!r} is at version {latest} already: version {request.version} comes too late"
        )
    if request.version != latest + 1:
        raise InvalidInputError(
            f"table {name_of(request)!r} is at version {latest}: the next one is {latest + 1}, not {request.version}"
        )


def read_staged(directory: ManifestDirectory, staged: str) -> bytes | None:
    """The content of a staged manifest; None if it is not there."""
    try:
        return directory.read(staged)
    except FileNotFoundError:
        return None


def checked(content: bytes | None, request: CreateTableVersionRequest) -> bytes:
    """The content of a staged manifest, if it is what the request announces.

    Raises:
        InvalidInputError: It is not there, or not a manifest.
    """
    if content is None:
        raise InvalidInputError(f"there is no staged manifest at {request.manifest_path!r}")
    if request.manifest_size not in {None, len(content)} or not content.endswith(_MAGIC):
        raise InvalidInputError(
            f"the file at {request.manifest_path!r} has {len(content)} bytes and is not the manifest that was announced"
        )
    return content


def naming_scheme(latest: Manifest | None, request: CreateTableVersionRequest) -> str:
    """The scheme of the existing manifests: a table that mixes both has two files for one version to race for."""
    asked = choose("naming_scheme", request.naming_scheme, NAMING_SCHEMES)
    used = asked if latest is None else latest.naming_scheme
    if request.naming_scheme is not None and asked != used:
        raise InvalidInputError(f"table {name_of(request)!r} names its manifests by scheme {used}, not {asked}")
    return used


def is_followed(directory: ManifestDirectory, base: Manifest | None, version: int) -> bool:
    """Whether readers provably follow a version that was made after it was looked up which one was the latest.

    Args:
        directory: The versions of the table's branch.
        base: The version before, as it was then; None if the branch had none.
        version: The version.
    """
    found = {manifest.version: manifest for manifest in directory.list()}
    if version not in found or (base is not None and found.get(base.version, base) != base):
        return False  # It is gone already, or another table has taken the place of this one.
    later = [number for number in found if number > version]
    return not later or _goes_on(directory, None if base is None else base.version, version, min(later))


def _goes_on(directory: ManifestDirectory, base: int | None, version: int, later: int) -> bool:
    """Whether a later version has files that came with this one; False also if that cannot be found out any more."""
    try:
        before = set() if base is None else _files(directory.open(base))
        new = _files(directory.open(version)) - before
        return not new.isdisjoint(_files(directory.open(later)))
    except LanceNamespaceError:
        return False


def _files(dataset: lance.LanceDataset) -> set[str]:
    """What the data files, deletion files and indexes of a version are called; no two ever have the same name."""
    found = {str(segment.uuid) for index in dataset.describe_indices() for segment in index.segments}
    for fragment in dataset.get_fragments():
        found.update(file.path for file in fragment.data_files())
        found.add(fragment.deletion_file() or "")
    return found - {""}

"""Publishing a staged manifest: how a client commits through the catalog."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lance_namespace import (
    ConcurrentModificationError,
    CreateTableVersionRequest,
    InternalError,
    InvalidInputError,
    TableVersion,
)

from lancespace.backends.choices import choose
from lancespace.tables.access import MAIN_BRANCH, name_of
from lancespace.tables.chains import is_followed
from lancespace.tables.manifests import NAMING_SCHEMES, Manifest, ManifestDirectory, manifest_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lancespace.storage import Storage

_MAGIC = b"LANC"
"""The last bytes of every Lance file, manifests included."""


class StoredVersions:
    """The versions of a table's branch where they are what is in storage."""

    def __init__(self, directory: ManifestDirectory, storage: Storage) -> None:
        self._directory = directory
        self._storage = storage

    def all(self, *, descending: bool = False) -> Iterable[Manifest]:
        """All versions, oldest first unless asked otherwise."""
        manifests = self._directory.list()
        return reversed(manifests) if descending else manifests

    def find(self, version: int | None) -> Manifest | None:
        """One version, or the latest."""
        if version is not None:
            return self._directory.find(version)
        manifests = self._directory.list()
        return manifests[-1] if manifests else None

    def create(self, request: CreateTableVersionRequest) -> Manifest:
        """The next version, from a staged manifest; see :func:`commit_manifest`."""
        return commit_manifest(self._directory, self._storage, request)

    def delete(self, manifests: Iterable[Manifest]) -> int:
        """Delete versions, and say how many: another one may be cleaning up, too."""
        return sum(self._directory.delete_if_there(manifest.name) for manifest in manifests)

    def describe(self, manifest: Manifest) -> TableVersion:
        """The spec's view of a version."""
        return self._directory.describe(manifest)


def commit_manifest(directory: ManifestDirectory, storage: Storage, request: CreateTableVersionRequest) -> Manifest:
    """Copy a staged manifest to its final name, if that is free and next in line, and remove the staged one.

    The same request may be sent again after a lost answer: if the version is there with the staged content, or the
    staged file is gone because this very commit removed it, the answer is the same as the first time.

    Raises:
        ConcurrentModificationError: Another writer has made this version.
        InternalError: The writer was paused so long that it is unknown whether readers will see the version.
        InvalidInputError: The version would leave a gap, or the staged file is not there or not a manifest.
    """
    staged = directory.name_of_staged(request.manifest_path)
    manifests = directory.list()
    known = {manifest.version: manifest for manifest in manifests}
    base = known.get(request.version - 1)
    if request.version in known:
        return _already_there(directory, base, known[request.version], staged, request)
    latest = manifests[-1] if manifests else None
    if latest is not None or request.branch in {None, MAIN_BRANCH}:  # A branch starts where it comes from.
        check_next(0 if latest is None else latest.version, request)
    content = checked(read_staged(directory, staged), request)
    created = Manifest(request.version, manifest_name(request.version, naming_scheme(latest, request)), len(content))
    name = created.name
    try:
        storage.put_if_absent(directory.path(name), content)
    except FileExistsError:
        return _already_there(directory, base, created, staged, request)
    if not is_followed(directory, base, created.version):
        _take_back(directory, name, content)
        raise _unknown(request)
    directory.delete_if_there(staged)
    return created


def _take_back(directory: ManifestDirectory, name: str, content: bytes) -> None:
    """Delete a version that is not the latest, if it is still ours: at worst that is an early clean-up."""
    with suppress(FileNotFoundError):
        if directory.read(name) == content:
            directory.delete_if_there(name)


def _already_there(
    directory: ManifestDirectory,
    base: Manifest | None,
    existing: Manifest,
    staged: str,
    request: CreateTableVersionRequest,
) -> Manifest:
    """The existing version, if it came from the staged manifest of this request.

    A staged file disappears only after it was published, so its absence is the trace of an earlier success.
    """
    content = directory.read(existing.name)
    waiting = read_staged(directory, staged)
    is_ours = request.manifest_size in {None, len(content)} if waiting is None else waiting == content
    if not is_ours:
        raise made_by_another(request)
    if waiting is not None:
        if not is_followed(directory, base, existing.version):
            raise _unknown(request)
        directory.delete_if_there(staged)
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

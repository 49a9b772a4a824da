"""Publishing a staged manifest: how a client commits through the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError, CreateTableVersionRequest, InvalidInputError

from lancespace.backends.choices import choose
from lancespace.tables.access import MAIN_BRANCH, name_of
from lancespace.tables.manifests import NAMING_SCHEMES, Manifest, ManifestDirectory, manifest_name

if TYPE_CHECKING:
    from lancespace.storage import Storage

_MAGIC = b"LANC"
"""The last bytes of every Lance file, manifests included."""


def commit_manifest(directory: ManifestDirectory, storage: Storage, request: CreateTableVersionRequest) -> Manifest:
    """Copy a staged manifest to its final name, if that is free and next in line, and remove the staged one.

    The same request may be sent again after a lost answer: if the version is there with the staged content, or the
    staged file is gone because this very commit removed it, the answer is the same as the first time.

    Raises:
        ConcurrentModificationError: Another writer has made this version.
        InvalidInputError: The version would leave a gap, or the staged file is not there or not a manifest.
    """
    staged = directory.name_of_staged(request.manifest_path)
    manifests = directory.list()
    existing = next((manifest for manifest in manifests if manifest.version == request.version), None)
    if existing is not None:
        return _already_there(directory, existing, staged, request)
    _check_next(manifests, request)
    content = _read_staged(directory, staged, request)
    name = manifest_name(request.version, _naming_scheme(manifests, request))
    created = Manifest(request.version, name, len(content), None, None)
    try:
        storage.put_if_absent(directory.path(name), content)
    except FileExistsError:
        return _already_there(directory, created, staged, request)
    directory.delete(staged)
    return created


def _already_there(
    directory: ManifestDirectory, existing: Manifest, staged: str, request: CreateTableVersionRequest
) -> Manifest:
    """The existing version, if it came from the staged manifest of this request.

    A staged file disappears only after it was published, so its absence is the trace of an earlier success.
    """
    content = directory.read(existing.name)
    try:
        is_ours = directory.read(staged) == content
    except FileNotFoundError:
        is_ours = request.manifest_size in {None, len(content)}
    else:
        if is_ours:
            directory.delete(staged)
    if not is_ours:
        raise ConcurrentModificationError(
            f"version {request.version} of table {name_of(request)!r} was made by another writer: "
            "read the latest version and commit on top of it"
        )
    return existing


def _check_next(manifests: list[Manifest], request: CreateTableVersionRequest) -> None:
    """Refuse what is not latest + 1; a new branch starts with the number of the version it comes from."""
    starts_branch = not manifests and request.branch not in {None, MAIN_BRANCH}
    latest = manifests[-1].version if manifests else 0
    if request.version <= latest:
        raise ConcurrentModificationError(
            f"table {name_of(request)!r} is at version {latest} already: version {request.version} comes too late"
        )
    if request.version != latest + 1 and not starts_branch:
        raise InvalidInputError(
            f"table {name_of(request)!r} is at version {latest}: the next one is {latest + 1}, not {request.version}"
        )


def _read_staged(directory: ManifestDirectory, staged: str, request: CreateTableVersionRequest) -> bytes:
    try:
        content = directory.read(staged)
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no staged manifest at {request.manifest_path!r}") from error
    if request.manifest_size not in {None, len(content)} or not content.endswith(_MAGIC):
        raise InvalidInputError(
            f"the file at {request.manifest_path!r} has {len(content)} bytes and is not the manifest that was announced"
        )
    return content


def _naming_scheme(manifests: list[Manifest], request: CreateTableVersionRequest) -> str:
    """The scheme of the existing manifests: a table that mixes both has two files for one version to race for."""
    asked = choose("naming_scheme", request.naming_scheme, NAMING_SCHEMES)
    used = manifests[-1].naming_scheme if manifests else asked
    if request.naming_scheme is not None and asked != used:
        raise InvalidInputError(f"table {name_of(request)!r} names its manifests by scheme {used}, not {asked}")
    return used

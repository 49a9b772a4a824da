"""The manifests of a table: the files under ``_versions/`` that make its versions."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import lance
from lance_namespace import InvalidInputError, TableVersion

from lancespace.authoring import Storage
from lancespace_tables._access import MAIN_BRANCH, TableLocation

NAMING_SCHEMES = ("V2", "V1")

_MAX = 2**64 - 1
_V2_DIGITS = 20
_NAME = re.compile(r"(\d+)\.manifest")
_BRANCH = re.compile(r"(?!.*\.\.)[\w.-]+(?:/[\w.-]+)*")
"""Pylance's rule for names of branches; they become paths here, which must not lead out of the table."""

_MODIFIED = ("mtime", "LastModified", "last_modified", "updated")
_ETAGS = ("ETag", "etag", "e_tag")
"""What the fsspec implementations call these in a listing."""


@dataclass(frozen=True)
class Manifest:
    """One version's manifest, as storage lists it or the catalog knows it."""

    version: int
    name: str
    size: int | None = None
    modified_millis: int | None = None
    e_tag: str | None = None
    metadata: Mapping[str, str] | None = None
    """What its committer had to say of the version; storage does not keep it."""

    @property
    def naming_scheme(self) -> str:
        """V2 counts down with leading zeros, so that the latest version is listed first."""
        return "V2" if len(PurePosixPath(self.name).stem) == _V2_DIGITS else "V1"


class ManifestDirectory:
    """The ``_versions`` directory of a table's branch, in one listing instead of a read per version."""

    def __init__(self, ref: TableLocation, branch: str | None, storage: Storage) -> None:
        if branch is not None and not _BRANCH.fullmatch(branch):
            raise InvalidInputError(
                f"{branch!r} cannot be a branch: names have letters, digits, '.', '-', '_' and '/'."
            )
        on_branch = "" if branch in {None, MAIN_BRANCH} else f"/tree/{branch}"
        self._ref = ref
        self._branch = branch
        self.storage = storage
        self._table = f"{storage.path(ref.location).rstrip('/')}{on_branch}"
        self._store_table = f"{_store_path(ref.location)}{on_branch}"

    def list(self) -> list[Manifest]:
        """All manifests, oldest first; none if there is no such directory."""
        filesystem, directory = self.storage.filesystem, f"{self._table}/_versions"
        filesystem.invalidate_cache(directory)
        try:
            entries = filesystem.ls(directory, detail=True)
        except FileNotFoundError:
            return []
        return sorted(filter(None, map(_manifest, entries)), key=lambda manifest: manifest.version)

    def find(self, version: int) -> Manifest | None:
        """The manifest of one version, in a request or two, however many there are."""
        filesystem = self.storage.filesystem
        for scheme in NAMING_SCHEMES:
            path = self.path(manifest_name(version, scheme))
            filesystem.invalidate_cache(path)
            try:
                return _manifest(filesystem.info(path))
            except FileNotFoundError:
                continue
        return None

    def open(self, version: int) -> lance.LanceDataset:
        """The dataset at a version that storage has; raises as :meth:`TableLocation.open` does."""
        return replace(self._ref, versions=None).open(version, self._branch)

    def read(self, name: str) -> bytes:
        """The content of a file under ``_versions``."""
        content: bytes = self.storage.filesystem.cat_file(self.path(name))
        return content

    def delete_if_there(self, name: str) -> bool:
        """Remove a file under ``_versions``, and say whether it was there."""
        try:
            self.storage.filesystem.rm_file(self.path(name))
        except FileNotFoundError:
            return False
        return True

    def exists(self, name: str) -> bool:
        """Whether there is a file under ``_versions``."""
        return self.storage.exists(self.path(name))

    def copy(self, name: str, target: str) -> None:
        """Give a file under ``_versions`` a second name, in one step, whatever had that name before.

        Raises:
            FileNotFoundError: It is not there.
        """
        if not self.storage.is_local:
            self.storage.filesystem.cp_file(self.path(name), self.path(target))
            return
        linked = self.path(f".{uuid.uuid4().hex}")
        os.link(self.path(name), linked)
        os.replace(linked, self.path(target))  # noqa: PTH105 - as the others here, on paths of the file system

    def move(self, name: str, target: str) -> None:
        """Rename a file under ``_versions``; where the store cannot, it is copied first.

        Raises:
            FileNotFoundError: It is not there.
        """
        if self.storage.is_local:
            os.rename(self.path(name), self.path(target))  # noqa: PTH104
        else:
            self.copy(name, target)
            self.storage.filesystem.rm_file(self.path(name))

    def path(self, name: str) -> str:
        """A file under ``_versions`` as a path of the file system."""
        return f"{self._table}/_versions/{name}"

    def describe(self, manifest: Manifest) -> TableVersion:
        """The spec's view; ``manifest_path`` is a key of the object store, which is what pylance's client reads."""
        return TableVersion(
            version=manifest.version,
            manifest_path=f"{self._store_table}/_versions/{manifest.name}",
            manifest_size=manifest.size,
            e_tag=manifest.e_tag,
            timestamp_millis=manifest.modified_millis,
            metadata=None if manifest.metadata is None else dict(manifest.metadata),
        )

    def name_of_staged(self, manifest_path: str) -> str:
        """The file name of a staged manifest, which a client gives as a key, a path or a URL.

        Raises:
            InvalidInputError: It is not in the ``_versions`` directory of this very table and branch.
        """
        given = PurePosixPath(_store_path(manifest_path) if "://" in manifest_path else manifest_path.strip("/"))
        is_here = given.parent == PurePosixPath(f"{self._store_table}/_versions") and given.name != ".."
        if not is_here or _NAME.fullmatch(given.name):
            raise InvalidInputError(
                f"manifest_path {manifest_path!r} is not a staged manifest under {self._store_table}/_versions"
            )
        return given.name


def manifest_name(version: int, naming_scheme: str) -> str:
    """The final name of a version's manifest."""
    return f"{version}.manifest" if naming_scheme == "V1" else f"{_MAX - version:0{_V2_DIGITS}}.manifest"


def _manifest(entry: dict[str, Any]) -> Manifest | None:
    """A manifest from an entry of a listing; None for staged manifests, hints and whatever else is there."""
    name = PurePosixPath(entry["name"]).name
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    number = int(match.group(1))
    return Manifest(
        version=_MAX - number if len(match.group(1)) == _V2_DIGITS else number,
        name=name,
        size=entry.get("size"),
        modified_millis=_millis(_first(entry, _MODIFIED)),
        e_tag=_first(entry, _ETAGS),
    )


def _first(entry: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((entry[key] for key in keys if entry.get(key) is not None), None)


def _millis(modified: Any) -> int | None:
    if isinstance(modified, str):
        modified = datetime.fromisoformat(modified.replace("Z", "+00:00"))
    if isinstance(modified, datetime):
        modified = modified.timestamp()
    return None if modified is None else int(modified * 1000)


def _store_path(location: str) -> str:
    """A location as the key that pylance's object store uses: without scheme, bucket and leading slash."""
    if "://" not in location:
        return Path(location).absolute().as_posix().strip("/")
    return unquote(urlsplit(location).path).strip("/")

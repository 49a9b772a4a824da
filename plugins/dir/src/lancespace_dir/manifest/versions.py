"""The files of the table's versions: looking for one, reading one, and putting the next where none is yet.

A number that was taken once stays taken in an object store, where version files are never deleted. On a local disk the
oldest are (:mod:`.cleanup`), strictly in the order of their numbers; only the first is replaced instead. So as long as
the file of a version is there, no later number has become free. What was concluded from a look for the next number, or
from putting a file there, therefore holds exactly if the file of the version before is *still there afterwards*. It
must be the same file: a writer that was paused for long may have put another one at a number that has become free.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lance_namespace import InternalError

from lancespace.authoring import STAGED_PREFIX
from lancespace_dir.manifest.schema import DIRECTORY
from lancespace_dir.sessions import is_same_for_all, open_session

if TYPE_CHECKING:
    from lance.file import LanceFileSession

    from lancespace.authoring import Storage

_MAX_VERSION = 2**64 - 1
_SUFFIX = ".manifest"
_DIGITS = 20
_ALL = 1 << 30
"""More bytes than any of the files has."""

Identity = tuple[int, int, int]
"""Inode, time of the last change in nanoseconds, and size of a local file."""


class VersionFile(NamedTuple):
    """The file of a version."""

    number: int
    data: bytes
    identity: Identity | None
    """None in an object store."""


class VersionFiles:
    """The directory ``_versions`` of the manifest. In an object store every call is one request."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.is_local = storage.is_local
        self.path = f"{storage.path()}/{DIRECTORY}/_versions"

    @cached_property
    def is_known(self) -> bool:
        """Whether Lance looks for the files where we put them."""
        return is_same_for_all(self._storage)

    def exists(self, version: int) -> bool:
        """Whether there is a file for a version."""
        if self.is_local:
            return os.path.exists(f"{self.path}/{name_of(version)}")  # noqa: PTH110 - Path costs more than the look
        return bool(self._session.contains(f"_versions/{name_of(version)}"))

    def identity(self, version: int) -> Identity | None:
        """Which file a version has; None if it has none, or in an object store."""
        if not self.is_local:
            return None
        try:
            return identity_of(os.stat(f"{self.path}/{name_of(version)}"))  # noqa: PTH116 - Path costs more than the look
        except FileNotFoundError:
            return None

    def is_there(self, version: int, identity: Identity | None) -> bool:
        """Whether a version still has the file that it had; so it is in an object store, and where it had none."""
        return identity is None or self.identity(version) == identity

    def read(self, version: int) -> VersionFile | None:
        """The file of a version, or None if it is gone."""
        try:
            if self.is_local:
                with Path(self.path, name_of(version)).open("rb") as file:
                    return VersionFile(version, file.read(), identity_of(os.fstat(file.fileno())))
            return VersionFile(version, bytes(self._session.read_range(f"_versions/{name_of(version)}", 0, _ALL)), None)
        except OSError:
            if self.exists(version):
                raise
            return None

    def newest(self) -> VersionFile | None:
        """The file of the latest version that a listing of the local directory shows, or None if there is none.

        A listing takes its time, and shows what is gone if many versions were committed meanwhile. A number becomes
        free only long after it was the largest, so it must still be that after its file was read.
        """
        seen = self._numbers()
        while seen:
            largest = seen[-1]
            found = self.read(largest)
            seen = self._numbers()
            if found is not None and seen[-1:] == [largest]:
                return found
        return None

    def put(self, version: int, data: bytes, base: Identity | None) -> Identity | None:
        """Write the file of a version that must not exist yet; of several writers exactly one succeeds.

        Args:
            version: The number.
            data: The content.
            base: The file of the version before, on which this one is based.

        Returns:
            Which file it is.

        Raises:
            FileExistsError: If it exists, or has existed.
            InternalError: If this process was paused so long that nobody can tell.
        """
        target = f"{self.path}/{name_of(version)}"
        if not self.is_local:
            self._storage.put_if_absent(target, data, unique=True)
            return None
        staged = Path(self.path, f"{STAGED_PREFIX}{uuid.uuid4().hex}")
        staged.write_bytes(data)
        try:
            identity = identity_of(os.stat(staged))  # noqa: PTH116 - beside os.link
            if not self.is_there(version - 1, base):
                raise FileExistsError(f"{target} has existed")
            os.link(staged, target)
        finally:
            os.unlink(staged)  # noqa: PTH108 - beside os.link
        self.confirm(version, identity, version - 1, base)
        return identity

    def confirm(self, version: int, identity: Identity | None, base_version: int, base: Identity | None) -> None:
        """Make sure that the file that was just put is a version, and not one at a number that had become free.

        Raises:
            InternalError: If nobody can tell.
        """
        if self.is_there(base_version, base):
            return
        latest = self.newest()
        if latest is not None and (latest.number, latest.identity) == (version, identity):
            return  # Lance's own clean-up deletes the version before, too.
        if latest is not None and latest.number > version and self.identity(version) == identity:
            with suppress(FileNotFoundError):
                os.unlink(f"{self.path}/{name_of(version)}")  # noqa: PTH108 - beside the others
        raise unknown()

    def _numbers(self) -> list[int]:
        """The numbers of all versions of a local directory, sorted."""
        try:
            return numbers_of(os.listdir(self.path))  # noqa: PTH208 - names are enough
        except FileNotFoundError:
            return []

    @cached_property
    def _session(self) -> LanceFileSession:
        return open_session(self._storage, DIRECTORY)


def unknown() -> InternalError:
    """The error of a writer that was paused for so long that nobody can tell whether its commit counts."""
    return InternalError(
        "This process was paused in the middle of a change to the catalog, while others made many: "
        "the change may or may not have been made. Check the catalog before you repeat it."
    )


def name_of(version: int) -> str:
    """The name of a version's file. Lance counts down, so that in a sorted listing the latest version is the first."""
    return f"{_MAX_VERSION - version:0{_DIGITS}d}{_SUFFIX}"


def numbers_of(names: list[str]) -> list[int]:
    """The numbers of the versions that have files of these names, sorted."""
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return sorted(_MAX_VERSION - int(stem) for stem in stems if len(stem) == _DIGITS and stem.isdecimal())


def identity_of(found: os.stat_result) -> Identity:
    """Which file this is."""
    return found.st_ino, found.st_mtime_ns, found.st_size

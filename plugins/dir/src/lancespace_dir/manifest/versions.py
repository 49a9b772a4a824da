"""The files of the table's versions: looking for one, reading one, and putting the next where none is yet."""

from __future__ import annotations

import os
import time
import uuid
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lancespace.storage.local import STAGED_PREFIX
from lancespace_dir.manifest.schema import DIRECTORY
from lancespace_dir.sessions import is_same_for_all, open_session

if TYPE_CHECKING:
    from lance.file import LanceFileSession

    from lancespace.storage import Storage

_MAX_VERSION = 2**64 - 1
_ALL = 1 << 30
"""More bytes than any of the files has."""
_TICK_NS = 3_000_000_000
"""Longer than the tick of any file system; the coarsest have two seconds."""

Mark = tuple[int, int, int]


class VersionFiles:
    """The directory ``_versions`` of the manifest. In an object store every call is one request."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._is_local = storage.is_local
        self.path = f"{storage.path()}/{DIRECTORY}/_versions"

    @cached_property
    def is_known(self) -> bool:
        """Whether Lance looks for the files where we put them."""
        return is_same_for_all(self._storage)

    def exists(self, version: int) -> bool:
        """Whether there is such a version."""
        if self._is_local:
            return os.path.exists(f"{self.path}/{_name(version)}")  # noqa: PTH110 - Path costs more than the look
        return bool(self._session.contains(f"_versions/{_name(version)}"))

    def mark(self) -> Mark | None:
        """What is another whenever a version has come or gone since; None if there is no such thing.

        That is when the directory last changed. A change that comes right after another may have the same time, as file
        systems count in ticks: a time that is not over for long says nothing about what comes next.
        """
        if not self._is_local:
            return None
        try:
            found = os.stat(self.path)  # noqa: PTH116 - Path costs more than the look
        except FileNotFoundError:
            return None
        is_over = time.time_ns() - found.st_ctime_ns > _TICK_NS
        return (found.st_dev, found.st_ino, found.st_ctime_ns) if is_over else None

    def read(self, version: int) -> bytes | None:
        """The file of a version, or None if it is gone."""
        try:
            if self._is_local:
                return Path(self.path, _name(version)).read_bytes()
            return bytes(self._session.read_range(f"_versions/{_name(version)}", 0, _ALL))
        except OSError:
            if self.exists(version):
                raise
            return None

    def put(self, version: int, data: bytes) -> None:
        """Write the file of a version that must not exist yet; of several writers exactly one succeeds.

        Raises:
            FileExistsError: If it exists.
        """
        target = f"{self.path}/{_name(version)}"
        if not self._is_local:
            self._storage.put_if_absent(target, data, unique=True)
            return
        staged = Path(self.path, f"{STAGED_PREFIX}{uuid.uuid4().hex}")
        staged.write_bytes(data)
        try:
            os.link(staged, target)
        finally:
            os.unlink(staged)  # noqa: PTH108 - beside os.link

    @cached_property
    def _session(self) -> LanceFileSession:
        return open_session(self._storage, DIRECTORY)


def _name(version: int) -> str:
    """Lance counts down, so that in a sorted listing the latest version is the first."""
    return f"{_MAX_VERSION - version:020d}.manifest"

"""The storage below one location, as a backend uses it."""

from __future__ import annotations

import errno
import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pluggy
    from fsspec import AbstractFileSystem

_DELETE_TRIES = 20
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


@dataclass(frozen=True)
class Credentials:
    """Temporary credentials for one prefix."""

    storage_options: Mapping[str, str]
    """In pylance's spelling, ready to be handed to a client."""
    expires_at_millis: int

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self.storage_options)}, expires_at_millis={self.expires_at_millis})"


def scheme_of(location: str) -> str:
    """The URL scheme of a location; a plain path is ``file``."""
    match = _SCHEME.match(location)
    return match.group(1).lower() if match else "file"


def as_uri(location: str) -> str:
    """A location as a complete URI: a plain path becomes a ``file://`` one."""
    return location if _SCHEME.match(location) else Path(location).absolute().as_uri()


class Storage:
    """Everything a backend does with a store: pylance's options, and a file system for what is not a Lance table.

    It is cheap to make and opens nothing before it is used.
    """

    def __init__(self, hooks: pluggy.HookRelay, location: str, options: Mapping[str, str]) -> None:
        self.location = location.rstrip("/") or location
        self._hooks = hooks
        self._given = dict(options)

    def __repr__(self) -> str:
        from lancespace.properties import redact_url

        return f"Storage({redact_url(self.location)!r})"

    @functools.cached_property
    def options(self) -> dict[str, str]:
        """Options for ``lance.dataset(uri, storage_options=...)``."""
        options: dict[str, str] = self._hooks.storage_options(location=self.location, options=self._given)
        return options

    @functools.cached_property
    def filesystem(self) -> AbstractFileSystem:
        """The fsspec file system of the store."""
        return self._hooks.filesystem(location=self.location, options=self._given)

    @functools.cached_property
    def _lance_location(self) -> str:
        return self._hooks.lance_location(location=self.location) or self.location

    def uri(self, relative: str) -> str:
        """The location of something below this one, as pylance takes it."""
        return f"{self._lance_location}/{relative}" if relative else self._lance_location

    def path(self, location: str | None = None) -> str:
        """A location of this store as a path of its file system."""
        path: str = self.filesystem._strip_protocol(location or self.location)  # noqa: SLF001 - fsspec's documented way
        return path

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory at a path of the file system."""
        if self.is_local:
            return os.path.exists(path)  # noqa: PTH110 - called for every read; Path costs more than the look itself
        return bool(self.filesystem.exists(path))

    @functools.cached_property
    def is_local(self) -> bool:
        """Whether the store is a file system of this machine."""
        return scheme_of(self.location) == "file"

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Write a file that must not exist yet; of several writers exactly one succeeds.

        Raises:
            FileExistsError: If it exists.
        """
        if not self._hooks.put_if_absent(filesystem=self.filesystem, path=path, data=data):
            raise FileExistsError(f"{path} exists already")

    def delete_tree(self, path: str) -> None:
        """Delete everything below a path; what is already gone is no error, so a repeat finishes what a crash left."""
        for _ in range(_DELETE_TRIES):
            try:
                self.filesystem.rm(path, recursive=True)
            except FileNotFoundError:  # All of it is gone, or somebody else is deleting it too.
                if not self.exists(path):
                    return
            else:
                return
        raise BlockingIOError(errno.EBUSY, "Others keep changing what is to be deleted: try again", path)

    def vend_credentials(self, permission: str) -> Credentials | None:
        """Temporary credentials for this location, or None if the store's plugin gives none."""
        credentials: Credentials | None = self._hooks.vend_credentials(
            location=self.location, options=self._given, permission=permission
        )
        return credentials

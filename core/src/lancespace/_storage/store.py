"""The storage below one location, as a backend uses it."""

from __future__ import annotations

import errno
import functools
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    import pluggy
    from fsspec import AbstractFileSystem

    from lancespace._properties import Property

_DELETE_TRIES = 20
_REFILLED = (errno.ENOTEMPTY, errno.EISDIR)
"""What a file system says if somebody wrote into a directory that was just emptied, or made one where none was."""
_SPECIAL = re.compile(r"[%?#]")
"""In a URL these begin an escape or end the path; pylance takes everything else as it is."""
_VERSIONS = ("generation", "ETag", "etag", "mtime", "LastModified")
"""What the fsspec implementations call it in a listing."""
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


def overlap(one: Storage, other: Storage) -> bool:
    """Whether a location is another one, contains it or lies inside it."""
    first, second = sorted(f"{_real_path(storage)}/" for storage in (one, other))
    return second.startswith(first)


def _real_path(storage: Storage) -> str:
    path = storage.path()
    return os.path.realpath(path) if storage.is_local else path.rstrip("/")


def _version(info: Mapping[str, Any]) -> str:
    """What tells a file from another of the same name: the store's own number for it, or its entity tag."""
    return str(next((info[key] for key in _VERSIONS if info.get(key)), ""))


def _quote(special: re.Match[str]) -> str:
    return f"%{ord(special[0]):02X}"


class Storage:
    """Everything a backend does with a store: pylance's options, and a file system for what is not a Lance table.

    It is cheap to make and opens nothing before it is used.
    """

    def __init__(self, hooks: pluggy.HookRelay, location: str, options: Mapping[str, str]) -> None:
        self.location = location.rstrip("/") or location
        self._hooks = hooks
        self._given = dict(options)

    def __repr__(self) -> str:
        from lancespace._properties import redact_url

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
        """The location of something below this one, as pylance takes it: that of a store is a URL."""
        inside = relative if self.is_local else _SPECIAL.sub(_quote, relative)
        return f"{self._lance_location}/{inside}" if inside else self._lance_location

    def path(self, location: str | None = None) -> str:
        """A location of this store as a path of its file system."""
        path: str = self.filesystem._strip_protocol(location or self.location)  # noqa: SLF001 - fsspec's documented way
        return path if self.is_local else unquote(path)

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory at a path of the file system."""
        if self.is_local:
            return os.path.exists(path)  # noqa: PTH110 - called for every read; Path costs more than the look itself
        return bool(self.filesystem.exists(path))

    @functools.cached_property
    def is_local(self) -> bool:
        """Whether the store is a file system of this machine."""
        return scheme_of(self.location) == "file"

    def put_if_absent(self, path: str, data: bytes, *, unique: bool = False) -> None:
        """Write a file that must not exist yet; of several writers exactly one succeeds.

        Args:
            path: Where, as a path of the file system.
            data: The content.
            unique: That nobody else ever writes this content. It tells one's own write: if the store took it, but its
                answer was lost and the client tried again, the store says that the file exists.

        Raises:
            FileExistsError: If it exists.
        """
        try:
            written = self._hooks.put_if_absent(filesystem=self.filesystem, path=path, data=data)
        except Exception:
            if not (unique and self._holds(path, data)):
                raise
        else:
            if not (written or (unique and self._holds(path, data))):
                raise FileExistsError(f"{path} exists already")

    def _holds(self, path: str, data: bytes) -> bool:
        """Whether there is a file with this content."""
        try:
            return bool(self.filesystem.cat_file(path) == data)
        except FileNotFoundError:
            return False

    def delete_tree(self, path: str, *, last: str | None = None) -> None:
        """Delete everything below a path; what is already gone is no error, so a repeat finishes what a crash left.

        Args:
            path: A path of the file system.
            last: A file in that directory which is deleted when all else is gone, as the mark that hides the rest. When
                it is gone, others may begin anew in the directory: what they put there stays.
        """
        if self._hooks.delete_tree(filesystem=self.filesystem, path=path, last=last):
            return
        if last is None:
            self._remove(path)
            return
        for entry in self._entries(path):
            if entry != last:
                self._remove(entry)
        self.delete_files([last])
        if self.is_local:
            with suppress(OSError):
                os.rmdir(path)  # noqa: PTH106 - a path of the file system; only if nothing is in it

    def list_tree(self, path: str) -> dict[str, str]:
        """All files below a path, each with what changes when another file takes its name."""
        try:
            found = self.filesystem.find(path, detail=True)
        except FileNotFoundError:
            return {}
        if not isinstance(found, dict):  # Where the path is that of a file, adlfs gives its name only.
            found = {name: self.filesystem.info(name) for name in found}
        return {str(name): _version(info) for name, info in found.items()}

    def delete_files(self, paths: Iterable[str]) -> None:
        """Delete files; what is already gone is no error."""
        files = sorted(paths)
        if files and not self._hooks.delete_files(filesystem=self.filesystem, paths=files):
            for file in files:
                with suppress(FileNotFoundError):
                    self.filesystem.rm_file(file)

    def delete_unchanged(self, path: str, version: str) -> bool:
        """Delete a file if it is still the one that :meth:`list_tree` told of; False if it is gone or another.

        A store without such a condition is asked which file it is right before.
        """
        done: bool | None = self._hooks.delete_unchanged(filesystem=self.filesystem, path=path, version=version)
        if done is not None:
            return done
        try:
            if _version(self.filesystem.info(path)) != version:
                return False
            self.filesystem.rm_file(path)
        except FileNotFoundError:
            return False
        return True

    def _entries(self, path: str) -> list[str]:
        try:
            return [str(entry) for entry in self.filesystem.ls(path, detail=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _remove(self, path: str) -> None:
        for _ in range(_DELETE_TRIES):
            try:
                self.filesystem.rm(path, recursive=True)
            except FileNotFoundError:  # All of it is gone, or somebody else is deleting it too.
                if not self.exists(path):
                    return
            except OSError as error:
                if error.errno not in _REFILLED:
                    raise
            else:
                return
        raise BlockingIOError(errno.EBUSY, "Others keep changing what is to be deleted: try again", path)

    def vendor_properties(self) -> tuple[Property, ...] | None:
        """The properties with which the store vends credentials, or None if it vends none."""
        properties: tuple[Property, ...] | None = self._hooks.vendor_properties()
        return properties

    def vend_credentials(self, permission: str, settings: Mapping[str, Any]) -> Credentials:
        """New temporary credentials for this location, from a store that has ``vendor_properties``."""
        from lancespace._errors import translated

        with translated(f"vend credentials for {self.location!r}"):
            credentials: Credentials = self._hooks.vend_credentials(
                location=self.location, options=self._given, permission=permission, settings=settings
            )
        return credentials

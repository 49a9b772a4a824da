"""Deleting what old versions alone need.

A file that a version had and that a later one has no more never comes back. So of each old version everything goes
that neither the oldest version to be kept nor the latest one has; what no version ever had stays, as somebody may be
about to commit it. On a local disk the file of the version goes after it, so that a listing stays short: strictly the
oldest first (:mod:`.versions`). The first of all is replaced by a copy of itself, so that a catalog is created once.

A clean-up that was paused goes on where it was, and finds most of it gone. The catalog may have been replaced by
another one meanwhile, so what is deleted on a local disk is looked up in the directory that was opened at the start.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from lancespace.authoring import STAGED_PREFIX
from lancespace_dir.manifest.schema import DIRECTORY
from lancespace_dir.manifest.snapshots import Snapshot
from lancespace_dir.manifest.versions import identity_of, name_of, numbers_of

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.reader import ManifestReader
    from lancespace_dir.manifest.versions import VersionFiles

KEEP_VERSIONS = 2048
"""So many of the latest versions stay readable. Any writer of ours may be paused for longer; pylance's may not."""


def clean_up(storage: Storage, reader: ManifestReader, count: int) -> None:
    """Clean up the versions before those that are kept.

    Args:
        storage: The catalog's root.
        reader: The manifest, which has just looked.
        count: How many versions were made since the last clean-up.
    """
    newest, last = reader.snapshot(), reader.version - KEEP_VERSIONS
    if newest is None or not newest.is_plain or last < 1:
        return  # Lance commits such a manifest for us, and looks at every version since the one that it is based on.
    with _local(storage, reader) if storage.is_local else nullcontext(_Prefix(storage, reader.files)) as place:
        oldest = _snapshot(place, last + 1)
        if oldest is None or not oldest.is_plain:
            return
        gone = set(oldest.files | newest.files)
        for number in place.old(last, count):
            snapshot = _snapshot(place, number)
            for path in sorted(snapshot.files - gone) if snapshot is not None else ():
                place.delete(path)
                gone.add(path)
            place.free(number)


def _snapshot(place: _Directory | _Prefix, number: int) -> Snapshot | None:
    data = place.read(number)
    return None if data is None else Snapshot.parse(data)


class _Directory:
    """A local directory, by its descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def old(self, last: int, _: int) -> list[int]:
        """The numbers to clean up, in order: all up to the last one that are there."""
        folder = os.open("_versions", os.O_RDONLY, dir_fd=self._descriptor)
        try:
            return [number for number in numbers_of(os.listdir(folder)) if number <= last]  # noqa: PTH208 - as below
        finally:
            os.close(folder)

    def read(self, number: int) -> bytes | None:
        """The content, or None if it is gone."""
        try:
            file = os.open(f"_versions/{name_of(number)}", os.O_RDONLY, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as opened:
            return opened.read()

    def delete(self, path: str) -> None:
        """Delete a file, or the directory of an index, whose path ends with a slash; it may be gone already."""
        with suppress(FileNotFoundError):
            if not path.endswith("/"):
                os.unlink(path, dir_fd=self._descriptor)
                return
            folder = os.open(path, os.O_RDONLY, dir_fd=self._descriptor)
            try:
                for name in os.listdir(folder):  # noqa: PTH208 - of a descriptor
                    os.unlink(name, dir_fd=folder)
            finally:
                os.close(folder)
            os.rmdir(path, dir_fd=self._descriptor)

    def free(self, number: int) -> None:
        """Delete the file of a version that nothing needs any more, so that the number is free."""
        with suppress(FileNotFoundError):
            if number == 1:
                self._copy(f"_versions/{name_of(1)}")
            else:
                os.unlink(f"_versions/{name_of(number)}", dir_fd=self._descriptor)

    def _copy(self, path: str) -> None:
        """Have another file with the same content, before the second version goes for the first time."""
        os.stat(f"_versions/{name_of(2)}", dir_fd=self._descriptor)
        staged = f"_versions/{STAGED_PREFIX}{uuid.uuid4().hex}"
        with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT, 0o666, dir_fd=self._descriptor), "wb") as file:
            file.write(self.read(1) or b"")
        os.replace(staged, path, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)


class _Prefix:
    """An object store, where the files of the versions stay."""

    def __init__(self, storage: Storage, files: VersionFiles) -> None:
        self._storage = storage
        self._files = files

    def old(self, last: int, count: int) -> range:
        """Those that were not old enough at the last clean-up."""
        return range(max(1, last - count + 1), last + 1)

    def read(self, number: int) -> bytes | None:
        """The content."""
        found = self._files.read(number)
        return None if found is None else found.data

    def delete(self, path: str) -> None:
        """An index is a prefix."""
        target = f"{self._storage.path()}/{DIRECTORY}/{path}"
        if path.endswith("/"):
            self._storage.delete_tree(target.rstrip("/"))
            return
        with suppress(FileNotFoundError):
            self._storage.filesystem.rm_file(target)

    def free(self, number: int) -> None:
        """The number stays taken."""


@contextmanager
def _local(storage: Storage, reader: ManifestReader) -> Iterator[_Directory]:
    """The directory in which the version is that the reader knows."""
    descriptor = os.open(f"{storage.path()}/{DIRECTORY}", os.O_RDONLY)
    try:
        found = os.stat(f"_versions/{name_of(reader.version)}", dir_fd=descriptor)
        if identity_of(found) != reader.identity:
            raise FileNotFoundError(f"{storage.path()}/{DIRECTORY} was replaced")
        yield _Directory(descriptor)
    finally:
        os.close(descriptor)

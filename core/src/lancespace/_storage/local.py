"""Local directories: plain paths and ``file://`` URLs."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lancespace._hookspecs import hookimpl
from lancespace._storage.options import OptionTable

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

STAGED_PREFIX = ".put-"
"""Begins the names of files that are not in place yet; if the writer dies, one stays and means nothing."""


def is_staged(name: str) -> bool:
    """Whether a file or directory is not in place yet: that shows in its name, which no table's directory can have."""
    return name.startswith(STAGED_PREFIX) and "." not in name[len(STAGED_PREFIX) :]


class LocalStorage:
    """The storage plugin for the local file system; it needs no options and refuses any."""

    table = OptionTable("file", ())

    @hookimpl
    def storage_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """Nothing to tell pylance about a local path."""
        return self.table.for_lance(options)

    @hookimpl
    def filesystem(self, options: Mapping[str, str]) -> AbstractFileSystem:
        """Fsspec's local file system."""
        from fsspec.implementations.local import LocalFileSystem

        return LocalFileSystem(auto_mkdir=False, **self.table.for_fsspec(options))

    @hookimpl
    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file with its content or not at all, also if the process dies in between.

        If its directory is not there yet, that appears together with the file: nobody sees it empty.
        """
        target = Path(path)
        if not target.parent.exists() and _move_into_place(target, data):
            return True
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if data:
                _link_into_place(target, data)
            else:
                target.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def _move_into_place(target: Path, data: bytes) -> bool:
    """Make the directory and the file in it elsewhere, then give the directory its name, unless that was taken."""
    target.parent.parent.mkdir(parents=True, exist_ok=True)
    staged = target.parent.parent / f"{STAGED_PREFIX}{uuid.uuid4().hex}"
    staged.mkdir()
    (staged / target.name).write_bytes(data)
    try:
        staged.rename(target.parent)
    except OSError as error:
        shutil.rmtree(staged)
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            raise
        return False
    return True


def _link_into_place(target: Path, data: bytes) -> None:
    """Write beside the target, then give it its name as well, which fails if the name is taken."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=STAGED_PREFIX) as staged:
        staged.write(data)
        staged.flush()
        os.fsync(staged.fileno())
        os.link(staged.name, target)

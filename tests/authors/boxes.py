"""A storage plugin as a third party writes one: buckets are directories below ``$BOX_HOME``."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from lancespace.authoring import Cause, ObjectStorage, Option, OptionTable, Property, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FULL = "the box is full"
LIFE = "credential_vendor.box_life"


class BoxFileSystem(DirFileSystem):  # type: ignore[misc] # fsspec has no types.
    """The directories, by paths that begin with a bucket."""

    protocol = "box"

    def __init__(self, home: str, limit: int = 0, **arguments: Any) -> None:
        super().__init__(home, LocalFileSystem(auto_mkdir=True), **arguments)
        self.limit = limit

    def split_path(self, path: str) -> tuple[str, str]:
        """The bucket and the key."""
        bucket, _, key = path.partition("/")
        return bucket, key

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        """Write a file; if it is to be created, in one step."""
        if self.limit and len(value) > self.limit:
            raise OSError(FULL)
        if mode != "create":
            super().pipe_file(path, value, **kwargs)
            return
        target = Path(self._join(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        staged = target.with_name(f".{uuid.uuid4().hex}")
        staged.write_bytes(value)
        try:
            os.link(staged, target)
        finally:
            staged.unlink()


class BoxStorage(ObjectStorage):
    """All that lancespace needs to know of boxes."""

    table = OptionTable(
        "box",
        (
            Option("home", fsspec="home", environment=("BOX_HOME",), note="pylance is given the path."),
            Option("limit", fsspec="limit", type=int, note="pylance is not limited."),
        ),
    )
    batch = 10
    vendor_table = (Property(LIFE, "Seconds", type=int, default=60),)

    def vend(
        self,
        location: str,
        options: Mapping[str, str],  # noqa: ARG002 - boxes have no credentials.
        permission: str,
        settings: Mapping[str, Any],
    ) -> tuple[dict[str, str], float]:
        """What opens a box."""
        return {"box_key": f"{permission} {location}"}, settings[LIFE]

    @staticmethod
    def find_cause(_error: BaseException, text: str) -> Cause | None:
        """Why a box failed."""
        return Cause.DISK_FULL if FULL in text else None

    @hookimpl
    def lance_location(self, location: str) -> str:
        """The path of a location."""
        return f"{os.environ['BOX_HOME']}/{location.removeprefix('box://')}"

    @hookimpl
    def filesystem(self, options: Mapping[str, str]) -> BoxFileSystem:
        """The boxes."""
        return BoxFileSystem(**self.table.for_fsspec(options))

    def list_keys(self, filesystem: BoxFileSystem, bucket: str, prefix: str) -> Iterator[str]:
        """The directories, too: they are to go with what is in them."""
        for path in filesystem.find(f"{bucket}/{prefix}", withdirs=True):
            yield path.removeprefix(f"{bucket}/")

    def delete_keys(self, filesystem: BoxFileSystem, bucket: str, keys: list[str]) -> list[str]:
        """Delete files and empty directories."""
        return [key for key in keys if not _delete(Path(filesystem.path, bucket, key))]


def _delete(path: Path) -> bool:
    if not path.is_dir():
        path.unlink(missing_ok=True)
    with suppress(OSError):
        path.rmdir()
    return not path.exists()

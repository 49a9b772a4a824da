"""Deleting everything below a path."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lancespace.storage.trees import delete_in_batches

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_BATCH = 1000
"""As many keys S3 deletes in one request."""


def delete_tree(filesystem: AbstractFileSystem, path: str, last: str | None) -> None:
    """Delete the objects below a path, and one at the path itself; the one that is to go last goes last.

    s3fs would list all of them first, take the path for a pattern, and not say what could not be deleted.
    """
    bucket, key, _ = filesystem.split_path(path.rstrip("/"))
    delete_in_batches(
        _keys(filesystem, bucket, key),
        _BATCH,
        lambda keys: _delete(filesystem, bucket, keys),
        last=last and filesystem.split_path(last)[1],
    )


def delete_files(filesystem: AbstractFileSystem, paths: Iterable[str]) -> None:
    """Delete these objects; they are all in one bucket."""
    split = [filesystem.split_path(path) for path in paths]
    delete_in_batches((key for _, key, _ in split), _BATCH, lambda keys: _delete(filesystem, split[0][0], keys))


def _keys(filesystem: AbstractFileSystem, bucket: str, key: str) -> Iterator[str]:
    asked = {"Bucket": bucket, "Prefix": f"{key}/" if key else ""}
    if key:
        yield key
    while True:
        page = filesystem.call_s3("list_objects_v2", **asked)
        yield from (entry["Key"] for entry in page.get("Contents", ()))
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]


def _delete(filesystem: AbstractFileSystem, bucket: str, keys: list[str]) -> None:
    objects = [{"Key": key} for key in keys]
    answer = filesystem.call_s3("delete_objects", Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
    for refused in answer.get("Errors", ()):
        code, message = refused.get("Code"), refused.get("Message")
        number = errno.EACCES if code == "AccessDenied" else errno.EIO
        raise OSError(number, f"S3 did not delete it: {code}: {message}", f"{bucket}/{refused.get('Key')}")

"""Deleting everything below a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fsspec.asyn import sync

from lancespace.storage.trees import delete_in_batches

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_BATCH = 100
"""As many objects GCS deletes in one request."""

_PAGE = 1000


def delete_tree(filesystem: AbstractFileSystem, path: str, last: str | None) -> None:
    """Delete the objects below a path, and one at the path itself; the one that is to go last goes last.

    gcsfs would list all of them first, and take the path for a pattern.
    """
    bucket, key, _ = filesystem.split_path(path.rstrip("/"))
    delete_in_batches(
        _keys(filesystem, bucket, key),
        _BATCH,
        lambda keys: _delete(filesystem, bucket, keys),
        last=last and filesystem.split_path(last)[1],
    )


def _keys(filesystem: AbstractFileSystem, bucket: str, key: str) -> Iterator[str]:
    asked = {"prefix": f"{key}/" if key else None, "maxResults": _PAGE, "fields": "items/name,nextPageToken"}
    if key:
        yield key
    while True:
        page = filesystem.call("GET", "b/{}/o", bucket, json_out=True, **asked)
        yield from (entry["name"] for entry in page.get("items", ()))
        if "nextPageToken" not in page:
            return
        asked["pageToken"] = page["nextPageToken"]


def _delete(filesystem: AbstractFileSystem, bucket: str, keys: list[str]) -> None:
    paths = [f"{bucket}/{key}" for key in keys]
    # Google's batches; what only speaks like Google gets one request for each.
    outcomes = sync(filesystem.loop, filesystem._delete_files, paths, _BATCH)  # noqa: SLF001 - rm reads patterns
    for outcome in outcomes:
        if isinstance(outcome, Exception) and not _says_absent(outcome):
            raise outcome


def _says_absent(error: Exception) -> bool:
    """Whether it was gone already; what a batch says of one object, gcsfs passes on as text."""
    text = str(error)
    return isinstance(error, FileNotFoundError) or "No such object" in text or text.endswith(": 404")

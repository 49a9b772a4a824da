"""Deleting everything below a path."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fsspec.asyn import sync

from lancespace.storage.trees import delete_in_batches

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_BATCH = 25
"""As many blobs as are deleted at once in each of the batches under way.

Azure's own batches save round trips and no transactions, and are refused by some accounts and by its emulator.
"""


def delete_tree(filesystem: AbstractFileSystem, path: str, last: str | None) -> None:
    """Delete the blobs below a path, and one at the path itself; the one that is to go last goes last.

    adlfs would list all of them first, take the path for a pattern, and send all requests at once. Where the account
    has real directories, they are deleted when they are empty, the deepest first.
    """
    container, key, _ = filesystem.split_path(path.rstrip("/"))
    client = filesystem.service_client.get_container_client(container)
    not_empty: list[str] = []
    delete_in_batches(
        _keys(filesystem, client, key),
        _BATCH,
        lambda keys: not_empty.extend(sync(filesystem.loop, _delete, client, keys)),
        last=last and filesystem.split_path(last)[1],
    )
    for directory in sorted(not_empty, reverse=True):
        if sync(filesystem.loop, _delete, client, [directory]):
            raise OSError(errno.EBUSY, "others keep writing to the directory that is to be deleted", directory)


def delete_unchanged(filesystem: AbstractFileSystem, path: str, etag: str) -> bool:
    """Delete a blob with this entity tag; False if it is gone, or another one."""
    from azure.core import MatchConditions
    from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError

    container, key, _ = filesystem.split_path(path)
    client = filesystem.service_client.get_container_client(container)
    quoted = '"{}"'.format(etag.strip('"'))  # As it must be; in a listing, it is not.
    condition = {"etag": quoted, "match_condition": MatchConditions.IfNotModified}
    try:
        sync(filesystem.loop, client.delete_blob, key, **condition)
    except (ResourceModifiedError, ResourceNotFoundError):
        return False
    return True


def _keys(filesystem: AbstractFileSystem, client: Any, key: str) -> Iterator[str]:
    if key:
        yield key
    pages = client.list_blob_names(name_starts_with=f"{key}/" if key else None).by_page()
    while (page := sync(filesystem.loop, _next_page, pages)) is not None:
        yield from page


async def _next_page(pages: Any) -> list[str] | None:
    async for page in pages:
        return [name async for name in page]
    return None


async def _delete(client: Any, keys: list[str]) -> list[str]:
    """Delete a batch; return the directories in it that are not empty yet."""
    outcomes = await asyncio.gather(*(_delete_blob(client, key) for key in keys), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [key for key, is_gone in zip(keys, outcomes, strict=True) if not is_gone]


async def _delete_blob(client: Any, key: str) -> bool:
    """Whether it is gone; a directory that is not empty is not."""
    from azure.core.exceptions import HttpResponseError

    try:
        await client.delete_blob(key)
    except HttpResponseError as error:
        if error.status_code == HTTPStatus.CONFLICT:
            return False
        if error.status_code != HTTPStatus.NOT_FOUND:
            raise
    return True

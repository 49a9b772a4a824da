"""What storage plugins for stores of objects have in common: such a plugin is mostly a table."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar

from lancespace._hookspecs import hookimpl
from lancespace._storage.store import Credentials

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from lancespace._properties import Property
    from lancespace._storage.options import OptionTable

BATCHES_AT_ONCE = 4


class ObjectStorage:
    """The base of a storage plugin for buckets with objects.

    A subclass has a table of options, implements the hook ``filesystem``, and lists and deletes keys. The file system
    must write on condition that a file is absent where it is asked to (``pipe_file(..., mode="create")``), and tell
    the bucket of a path from the key (``split_path``).
    """

    table: ClassVar[OptionTable]
    scheme: ClassVar[str]
    """The URL scheme of such locations in pylance."""
    batch: ClassVar[int] = 1000
    """As many objects as the store deletes in one request."""
    vendor_table: ClassVar[tuple[Property, ...]] = ()
    """The properties of :meth:`vend`, for a store that vends credentials."""

    def vend(
        self, location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> tuple[dict[str, str], float]:
        """New credentials as pylance's options, and when they expire, in seconds since 1970."""
        raise NotImplementedError

    def list_keys(self, filesystem: AbstractFileSystem, bucket: str, prefix: str) -> Iterable[str]:
        """The keys that begin with a prefix, page by page."""
        raise NotImplementedError

    def delete_keys(self, filesystem: AbstractFileSystem, bucket: str, keys: list[str]) -> Sequence[str] | None:
        """Delete a batch of objects; what is already gone is no error.

        A store with real directories answers the keys of those that are not empty yet: they go when all else is gone.
        """
        raise NotImplementedError

    @hookimpl
    def lance_location(self, location: str) -> str:
        """The location with the scheme that pylance knows."""
        return f"{self.scheme}://{location.partition('://')[2]}"

    @hookimpl
    def storage_options(self, location: str, options: Mapping[str, str]) -> dict[str, str]:  # noqa: ARG002 - for subclasses
        """The options for pylance."""
        return self.table.for_lance(options)

    @hookimpl
    def put_if_absent(self, filesystem: AbstractFileSystem, path: str, data: bytes) -> bool:
        """Write with the condition that the file system has for it."""
        try:
            filesystem.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        return True

    @hookimpl
    def delete_tree(self, filesystem: AbstractFileSystem, path: str, last: str | None) -> bool:
        """Delete the objects below a path, and one at the path itself, in the store's batches.

        fsspec's own ``rm`` would list all of them first, and take the path for a pattern.
        """
        bucket, key = _split(filesystem, path.rstrip("/"))
        keys = chain([key] if key else [], self.list_keys(filesystem, bucket, f"{key}/" if key else ""))
        not_empty: list[str] = []
        delete_in_batches(
            keys,
            self.batch,
            lambda batch: not_empty.extend(self.delete_keys(filesystem, bucket, batch) or ()),
            last=last and _split(filesystem, last)[1],
        )
        for directory in sorted(not_empty, reverse=True):  # The deepest first.
            if self.delete_keys(filesystem, bucket, [directory]):
                raise OSError(errno.EBUSY, "others keep writing to the directory that is to be deleted", directory)
        return True

    @hookimpl
    def delete_files(self, filesystem: AbstractFileSystem, paths: Sequence[str]) -> bool:
        """Delete objects of one bucket, in the store's batches."""
        split = [_split(filesystem, path) for path in paths]
        delete = functools.partial(self.delete_keys, filesystem, split[0][0])
        delete_in_batches((key for _, key in split), self.batch, delete)
        return True

    @hookimpl
    def vendor_properties(self) -> tuple[Property, ...] | None:
        """What the store's vending of credentials takes, if it vends some."""
        return self.vendor_table or None

    @hookimpl
    def vend_credentials(
        self, location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> Credentials:
        """New credentials, and what else a client needs to reach the store."""
        secrets, expires_at = self.vend(location, options, permission, settings)
        shared = self.table.shared(self.storage_options(location, options))
        return Credentials({**shared, **secrets}, expires_at_millis=int(expires_at * 1000))


def delete_in_batches(
    keys: Iterable[str], size: int, delete: Callable[[list[str]], object], *, last: str | None = None
) -> None:
    """Delete what a listing yields, in batches of the size that the store takes in one request.

    Only the batches under way are in memory, however many keys there are. If one fails, those under way are finished,
    the error is raised, and what is left is for a repeat. The key ``last``, if it is among them, goes after all others.
    """
    held_back: list[str] = []
    remaining = _without(keys, last, held_back)
    under_way: set[Future[object]] = set()
    with ThreadPoolExecutor(BATCHES_AT_ONCE) as pool:
        while batch := list(islice(remaining, size)):
            if len(under_way) == BATCHES_AT_ONCE:
                under_way = _finish_one(under_way)
            under_way.add(pool.submit(delete, batch))
        for batch_under_way in under_way:
            batch_under_way.result()
    if held_back:
        delete(held_back)


def _without(keys: Iterable[str], last: str | None, held_back: list[str]) -> Iterator[str]:
    for key in keys:
        if key == last:
            held_back.append(key)
        else:
            yield key


def _finish_one(under_way: set[Future[object]]) -> set[Future[object]]:
    done, others = wait(under_way, return_when=FIRST_COMPLETED)
    for batch in done:
        batch.result()
    return others


def _split(filesystem: AbstractFileSystem, path: str) -> tuple[str, str]:
    """The bucket and the key of a path."""
    bucket, key, *_ = filesystem.split_path(path)
    return bucket, key

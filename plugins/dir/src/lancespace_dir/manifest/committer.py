"""The manifest as a backend uses it: consistent reads, and mutations that share commits.

Callers of one process that mutate at the same time share one commit: the first of them leads, runs all mutations that
are waiting on one draft, commits once, and hands each its own result or error. If another process was faster, the
leader looks again and reruns them all.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lance_namespace import ConcurrentModificationError

from lancespace.errors import translated
from lancespace_dir.manifest import writer
from lancespace_dir.manifest.drafts import Draft
from lancespace_dir.manifest.reader import ManifestReader
from lancespace_dir.manifest.schema import DIRECTORY, Entry
from lancespace_dir.manifest.turns import Turns
from lancespace_dir.manifest.upkeep import Upkeep
from lancespace_dir.manifest.writer import Conflict, ManifestWriter

if TYPE_CHECKING:
    from lancespace.storage import Storage

Result = TypeVar("Result")

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.25


class _Request(Generic[Result]):
    """A mutation on its way through a commit."""

    def __init__(self, mutation: Callable[[Draft], Result]) -> None:
        self.mutation = mutation
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.is_done = False

    def run(self, draft: Draft) -> None:
        """Run on a draft; an error is this caller's alone."""
        self.result, self.error = None, None
        try:
            self.result = draft.attempt(self.mutation)
        except Exception as error:  # noqa: BLE001 - it is raised in the thread of the caller
            self.error = error

    def outcome(self) -> Result:
        """The result or error, in the caller's own thread."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class Manifest:
    """The manifest of one catalog; safe to use from many threads."""

    def __init__(self, storage: Storage, *, commit_retries: int, with_upkeep: bool = True) -> None:
        self._retries = commit_retries
        self._reader = ManifestReader(storage)
        self._writer = ManifestWriter(storage, storage.uri(DIRECTORY))
        self._turns = Turns(storage, "commit")
        self._upkeep = Upkeep(Turns(storage, "upkeep"), self._reader.open_latest) if with_upkeep else None
        self._state = threading.RLock()
        self._queue: list[_Request[Any]] = []
        self._queue_changed = threading.Condition()
        self._has_leader = False

    @contextmanager
    def reading(self) -> Iterator[ManifestReader]:
        """The manifest with every commit that ended before this call; nobody changes it meanwhile."""
        with translated("read the catalog's manifest"), self._state:
            self._reader.refresh()
            yield self._reader

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        with self.reading() as reader:
            return reader.get(object_id)

    def mutate(self, mutation: Callable[[Draft], Result]) -> Result:
        """Run a mutation and commit what it changed; it may run more than once, so it must only touch its draft.

        Raises:
            ConcurrentModificationError: If others were faster too many times in a row.
        """
        request = _Request(mutation)
        with self._queue_changed:
            self._queue.append(request)
            while self._has_leader and not request.is_done:
                self._queue_changed.wait()
            if request.is_done:
                return request.outcome()
            self._has_leader = True
            batch, self._queue = self._queue, []
        try:
            self._lead(batch)
        finally:
            with self._queue_changed:
                self._has_leader = False
                self._queue_changed.notify_all()
        return request.outcome()

    def close(self) -> None:
        """Wait for upkeep that is under way."""
        if self._upkeep is not None:
            self._upkeep.close()

    def _lead(self, batch: list[_Request[Any]]) -> None:
        try:
            with translated("change the catalog's manifest"):
                self._commit(batch)
        except Exception as error:  # noqa: BLE001 - every caller of the batch gets it
            for request in batch:
                request.error = error
        finally:
            for request in batch:
                request.is_done = True

    def _commit(self, batch: list[_Request[Any]]) -> None:
        pause = _FIRST_PAUSE
        for _ in range(self._retries + 1):
            with self._turns.mine():
                if self._try(batch):
                    return
            time.sleep(random.uniform(0, pause))  # noqa: S311 - jitter, not a secret
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise ConcurrentModificationError(
            f"Others changed the catalog {self._retries + 1} times in a row while this change was being committed: "
            "retry, or raise the property 'commit_retries'."
        )

    def _try(self, batch: list[_Request[Any]]) -> bool:
        """One attempt; False if somebody else committed meanwhile."""
        with self._state:
            self._reader.refresh()
            draft = Draft(self._reader)
            for request in batch:
                request.run(draft)
            if not draft.changes:
                return True
            made = writer.plan(self._reader, draft)
        try:
            written = self._writer.write(made)
            with self._state:
                self._reader.expect([segment for _, segment in written])
            dataset = self._writer.publish(made, [fragment for fragment, _ in written])
        except Conflict:
            return False
        with self._state:
            self._reader.adopt(dataset)
        if self._upkeep is not None:
            self._upkeep.consider(dataset.version)
        return True

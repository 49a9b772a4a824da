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
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lance_namespace import ConcurrentModificationError, InternalError

from lancespace.authoring import translated
from lancespace_dir.manifest import plans
from lancespace_dir.manifest.commit_queue import CommitQueue
from lancespace_dir.manifest.drafts import Draft
from lancespace_dir.manifest.plans import Conflict
from lancespace_dir.manifest.reader import ManifestReader, Outdated
from lancespace_dir.manifest.schema import Entry
from lancespace_dir.manifest.upkeep import Upkeep
from lancespace_dir.manifest.versions import unknown
from lancespace_dir.manifest.writer import ManifestWriter

if TYPE_CHECKING:
    from lancespace.authoring import Storage

Result = TypeVar("Result")

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.25
_ALONE_SECONDS = 5.0
_SURE_SECONDS = 10.0
"""A commit that was made so long after its look is looked for: Lance's own clean-up may have freed its number."""


class _Request(Generic[Result]):
    """A mutation on its way through a commit."""

    def __init__(self, mutation: Callable[[Draft], Result], *, has_looked: bool) -> None:
        self.mutation = mutation
        self.has_looked = has_looked
        """Whether the operation that it is part of has seen what others committed."""
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.is_done = False

    def run(self, draft: Draft) -> None:
        """Run on a draft; an error is this caller's alone."""
        self.result, self.error = None, None
        try:
            self.result = draft.attempt(self.mutation)
        except Outdated:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised in the thread of the caller
            self.error = error

    def outcome(self) -> Result:
        """The result or error, in the caller's own thread."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class _Operation(threading.local):
    """The operation that a thread is at, if what it does is one operation."""

    is_one = False
    has_looked = False

    @property
    def needs_no_look(self) -> bool:
        """Whether it has seen what others committed before it began."""
        return self.is_one and self.has_looked


class ManifestTable:
    """The manifest of one catalog; safe to use from many threads."""

    def __init__(self, storage: Storage, *, commit_retries: int, with_upkeep: bool = True) -> None:
        self._retries = commit_retries
        self._is_local = storage.is_local
        self._operation = _Operation()
        self._reader = ManifestReader(storage)
        self._writer = ManifestWriter(storage, self._reader.files)
        self._processes = CommitQueue(storage, "commit")
        self._upkeep = Upkeep(storage) if with_upkeep else None
        self._state = threading.RLock()
        self._is_alone = False
        """Whether nobody else committed since this process did; then it need not look before it commits again."""
        self._queue: list[_Request[Any]] = []
        self._queue_changed = threading.Condition()
        self._has_leader = False

    @contextmanager
    def reading(self) -> Iterator[ManifestReader]:
        """The manifest with every commit that ended before this call; nobody changes it meanwhile."""
        with self._state, translated("read the catalog's manifest", missing=InternalError):
            if not self._operation.needs_no_look:
                self._reader.refresh()
                self._operation.has_looked = True
            yield self._reader

    @contextmanager
    def single_refresh(self) -> Iterator[None]:
        """Have all that this thread does here look but once for what others committed: it is one operation.

        Where a look is a request, that saves some. Where it costs nothing, every step sees the latest.
        """
        if self._is_local or self._operation.is_one:
            yield
            return
        self._operation.is_one, self._operation.has_looked = True, False
        try:
            yield
        finally:
            self._operation.is_one = False

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        with self.reading() as reader:
            return reader.get(object_id)

    def mutate(self, mutation: Callable[[Draft], Result]) -> Result:
        """Run a mutation and commit what it changed; it may run more than once, so it must only touch its draft.

        Raises:
            ConcurrentModificationError: If others were faster too many times in a row.
        """
        request = _Request(mutation, has_looked=self._operation.needs_no_look)
        with self._queue_changed:
            self._queue.append(request)
            while self._has_leader and not request.is_done:
                self._queue_changed.wait()
            is_leader = not request.is_done
            if is_leader:
                batch, self._queue, self._has_leader = self._queue, [], True
        if is_leader:
            self._lead(batch)
        self._operation.has_looked = True
        return request.outcome()

    def close(self) -> None:
        """End the turn of this process, and wait for upkeep that is under way."""
        self._processes.close()
        if self._upkeep is not None:
            self._upkeep.close()

    def _lead(self, batch: list[_Request[Any]]) -> None:
        error: Exception | None = InternalError(
            "The thread that committed this change together with its own was interrupted: check whether the change was "
            "made."
        )
        try:
            with translated("change the catalog's manifest", missing=InternalError):
                self._commit(batch)
            error = None
        except Exception as failure:  # noqa: BLE001 - every caller of the batch gets it
            error = failure
        finally:
            with self._queue_changed:
                for request in batch:
                    request.error = error or request.error
                    request.is_done = True
                self._has_leader = False
                self._queue_changed.notify_all()

    def _commit(self, batch: list[_Request[Any]]) -> None:
        pause = _FIRST_PAUSE
        has_looked = all(request.has_looked for request in batch)
        for _ in range(self._retries + 1):
            with self._processes.acquire():
                if self._try(batch, has_looked=has_looked):
                    return
            has_looked = False
            time.sleep(random.uniform(0, pause))  # noqa: S311 - jitter, not a secret
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise ConcurrentModificationError(
            f"Others changed the catalog {self._retries + 1} times in a row while this change was being committed: "
            "retry, or raise the property 'commit_retries'."
        )

    def _try(self, batch: list[_Request[Any]], *, has_looked: bool) -> bool:
        """One attempt; False if somebody else committed meanwhile."""
        try:
            with self._state:
                draft = self._draft(batch, has_looked=has_looked)
                if not draft.changes:
                    return True
                if not self._reader.version:
                    draft = self._begin(batch, draft)
                    if not self._reader.version:  # Another writer is about to create the table.
                        return False
                made, seen_at = plans.plan(self._reader, draft), self._reader.seen_at
            written = self._writer.write(made)
            with self._state:
                self._reader.expect([segment for _, segment in written])
            published, identity = self._writer.publish(made, [fragment for fragment, _ in written])
            if not seen_at.is_recent(_SURE_SECONDS) and self._reader.open_latest().version != published.version:
                raise unknown()
        except (Conflict, Outdated):
            self._is_alone = False
            return False
        with self._state:
            self._reader.adopt(published, identity)
        if self._upkeep is not None:
            self._upkeep.consider(published.version)
        return True

    def _begin(self, batch: list[_Request[Any]], draft: Draft) -> Draft:
        """Create the table; if another writer has, run the mutations on what it holds by now."""
        with suppress(Conflict):
            begun = self._writer.begin()
            if self._is_local:
                self._reader.refresh()  # It is to know which file that is.
            else:
                self._reader.adopt(begun, None)
            if self._reader.version == begun.version:
                return draft
        self._reader.refresh()
        return self._run(batch)

    def _draft(self, batch: list[_Request[Any]], *, has_looked: bool) -> Draft:
        """Run the mutations on what others committed; where a look is a request, only if somebody else may have.

        If somebody has after all, the commit fails, and the next attempt looks. A mutation that fails or changes
        nothing has no commit that could tell, so it is run again after a look. After a pause it looks, too: somebody
        may have deleted the whole catalog.
        """
        is_recent = self._reader.seen_at.is_recent(_ALONE_SECONDS)
        if has_looked and is_recent:
            return self._run(batch)
        if self._is_alone and not self._is_local and is_recent:
            draft = self._run(batch)
            if draft.changes and not any(request.error for request in batch):
                return draft
        known = self._reader.version
        self._reader.refresh()
        self._is_alone = self._reader.version == known > 0
        return self._run(batch)

    def _run(self, batch: list[_Request[Any]]) -> Draft:
        draft = Draft(self._reader)
        for request in batch:
            request.run(draft)
        return draft

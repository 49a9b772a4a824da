"""Bodies that stream in: the event loop receives them, a worker thread reads them as a file."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from lancespace_server import failures
from lancespace_server.deadlines import Deadline
from lancespace_server.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from lancespace_server.settings import ServerSettings
    from lancespace_server.types import Receive

Bytes = bytes | memoryview

_DRAINED_BYTES = 1 << 20


class Disconnected(Exception):  # noqa: N818 - the caller went away; nobody is left to be told of an error
    """The caller closed the connection before the request was over."""


class Upload:
    """A body as a readable file. What waits in memory is bounded: the caller is not read from while it is full.

    A body that ends too early, is too large or too slow makes :meth:`read` raise, so that what is being written is
    never committed; :attr:`failure` then says why.
    """

    def __init__(
        self, receive: Receive, settings: ServerSettings, hold: Callable[[int], None], *, is_digested: bool = False
    ) -> None:
        """``hold`` is told how many bytes are in memory; it raises a :class:`Failure` if they are too many."""
        self._receive = receive
        self._settings = settings
        self._hold = hold
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._room = asyncio.Event()
        self._chunks: deque[Bytes] = deque()
        self._waiting = 0
        self._wanted = 0
        self._has_ended = False
        self._is_whole = True
        self._hash = hashlib.blake2b(digest_size=16) if is_digested else None
        self.total = 0
        self.failure: Failure | Disconnected | None = None
        self.closed = False

    async def receive_first(self) -> None:
        """Take in what fits into memory, so that small bodies hold no thread while they come."""
        while self._waiting < self._settings.buffer_bytes and await self._receive_one():
            pass

    async def receive_rest(self) -> None:
        """Take the body in until it ends, fails, or nobody reads it any more."""
        try:
            while await self._receive_one():
                while self._waiting > self._settings.buffer_bytes and not self.closed:
                    self._room.clear()
                    await self._room.wait()
        finally:
            if not self._has_ended:
                self.abort()  # Nothing more is taken, whatever the reason: nobody may wait for it.

    def begins_with(self, magic: bytes) -> bool:
        """Whether the body is of a kind that is known by its first bytes."""
        with self._changed:
            return b"".join(itertools.islice(self._chunks, len(magic)))[: len(magic)] == magic

    def ends_before(self, size: int) -> bool:
        """Whether the whole body has come and is shorter: what it says of its size is wrong."""
        with self._changed:
            return self._has_ended and self.total < size

    def abort(self) -> None:
        """Let whoever still reads fail. Why is not known here: :attr:`failure` stays as it is."""
        with self._changed:
            self._is_whole, self._has_ended = False, True
            self._changed.notify()

    def refuse(self, failure: Failure | Disconnected) -> None:
        """Take no more of the body, and say why."""
        with self._changed:
            self.failure = self.failure or failure
        self.abort()

    async def _receive_one(self) -> bool:
        """Take one chunk; False if there is nothing to wait for any more."""
        if self._has_ended or self.closed:
            return False
        limit = self._settings.idle_timeout
        try:
            with Deadline(limit, lambda: failures.too_slow("Nothing of the request's body came", limit)):
                message = await self._receive()
        except Failure as failure:
            self.refuse(failure)
            return False
        if message["type"] == "http.disconnect":
            self.refuse(Disconnected())
            return False
        self._add(message.get("body", b""))
        if not message.get("more_body", False):
            self._end()
        return not self._has_ended

    def _add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        limit = self._settings.max_data_bytes
        if limit is not None and self.total > limit:
            self.refuse(failures.too_large("The body", limit, "max_data_bytes"))
            return
        try:
            self._hold(min(self.total, self._settings.buffer_bytes))
        except Failure as failure:
            self.refuse(failure)
            return
        with self._changed:
            self._chunks.append(chunk)
            self._waiting += len(chunk)
            if self._waiting >= self._wanted:
                self._changed.notify()

    def _end(self) -> None:
        with self._changed:
            self._has_ended = True
            self._changed.notify()

    # --- what follows is called by the worker thread ---

    def hold(self, size: int) -> None:
        """Note that a message of this size is in memory, beside what waits.

        Raises:
            OSError: If that is too much; :attr:`failure` says why.
        """
        try:
            self._hold(self._settings.buffer_bytes + size)
        except Failure as failure:
            self.refuse(failure)
            raise OSError("too many bytes are in memory") from failure

    def read(self, size: int = -1) -> bytes:
        """Exactly ``size`` bytes, or less at the end of the body; everything if negative.

        Raises:
            OSError: If the body is not whole.
        """
        parts: list[Bytes] = []
        missing = size
        while missing != 0 and (taken := self._take(missing)):
            parts += taken
            missing -= sum(map(len, taken)) if size >= 0 else 0
        data = b"".join(parts)
        if self._hash is not None:
            self._hash.update(data)
        return data

    def digest(self) -> bytes | None:
        """A hash of the whole body, whose rest is read for it; None if that does not come, or no hash was asked for."""
        with suppress(OSError):
            while self._hash is not None and self.read(_DRAINED_BYTES):
                pass
            return None if self._hash is None else self._hash.digest()
        return None

    def _take(self, most: int) -> list[Bytes]:
        """So many bytes, or as many as may wait; fewer only at the end. Nobody is woken for less."""
        with self._changed:
            at_once = self._settings.buffer_bytes
            self._wanted = min(most, at_once) if most >= 0 else at_once
            while self._waiting < self._wanted and not self._has_ended:
                self._changed.wait()
            if not self._is_whole:
                raise OSError("the body of the request is not whole")
            taken = self._cut(self._waiting if most < 0 else most)
        self._wake()
        return taken

    def _cut(self, most: int) -> list[Bytes]:
        """The next chunks, at most ``most`` bytes; what is cut off the last one is not copied."""
        taken: list[Bytes] = []
        while self._chunks and most > 0:
            chunk = self._chunks.popleft()
            if most < len(chunk):
                view = memoryview(chunk)
                self._chunks.appendleft(view[most:])
                chunk = view[:most]
            taken.append(chunk)
            most -= len(chunk)
            self._waiting -= len(chunk)
        return taken

    def close(self) -> None:
        """Nobody reads any more; what still comes is not kept."""
        self.closed = True
        self._wake()

    def readable(self) -> bool:
        """Say to pyarrow that this is a file to read from."""
        return True

    def _wake(self) -> None:
        if not self._room.is_set():
            self._loop.call_soon_threadsafe(self._room.set)

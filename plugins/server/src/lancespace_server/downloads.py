"""Query results that stream out: a worker thread writes them as to a file, the event loop sends them."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from lancespace.authoring import Parts

if TYPE_CHECKING:
    from lancespace.authoring import Bytes
    from lancespace_server.settings import ServerSettings

_CHUNK_BYTES = 1 << 20
"""How much is handed over, at least, so that threads need not wake each other for every buffer of a batch."""

_MOST_PARTS = 64
"""More parts than these are put together: copying a megabyte takes less time than sending it in many buffers."""

Chunk: TypeAlias = "list[Bytes]"


def size_of(chunk: Chunk) -> int:
    """How many bytes a chunk has."""
    return sum(map(len, chunk))


class Abandoned(Exception):  # noqa: N818 - nobody is left to be told of an error
    """The caller does not want the rest."""


class Download(Parts):
    """The body of an answer as a writable file. What waits in memory is bounded: the writer waits while it is full."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__()
        self._limit = settings.buffer_bytes
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._arrived = asyncio.Event()
        self._chunks: deque[Chunk] = deque()
        self._waiting = 0
        self._is_awaited = False
        self._is_abandoned = False
        self._has_ended = False
        self._error: BaseException | None = None

    async def next(self) -> Chunk:
        """The next chunk; empty at the end. Raises what went wrong in the thread."""
        while True:
            with self._changed:
                if self._chunks:
                    chunk = self._chunks.popleft()
                    self._waiting -= size_of(chunk)
                    self._changed.notify()
                    return chunk
                if self._error is not None:
                    raise self._error
                if self._has_ended:
                    return []
                self._is_awaited = True
                self._arrived.clear()
            await self._arrived.wait()

    def abandon(self) -> None:
        """Nobody takes the rest: the writer is told with its next write."""
        with self._changed:
            self._is_abandoned = True
            self._changed.notify()

    # --- what follows is called by the worker thread ---

    def write_batches(self, reader: pa.RecordBatchReader, *, as_stream: bool) -> None:
        """Write all batches, as an Arrow IPC file or stream.

        Raises:
            Abandoned: If nobody takes the rest; no more batches are read then.
        """
        sink = pa.PythonFile(self, mode="w")
        make = pa.ipc.new_stream if as_stream else pa.ipc.new_file
        with make(sink, reader.schema) as writer:
            for batch in reader:
                if self._is_abandoned:
                    raise Abandoned
                writer.write_batch(batch)

    def write(self, data: Bytes) -> int:
        """Take some bytes, which go out as they are, together with others."""
        written = super().write(data)
        if self._size >= _CHUNK_BYTES:
            self._pass_on()
        return written

    def finish(self, error: BaseException | None = None) -> None:
        """No more comes; with an error, what was written is not whole."""
        if error is None and self._parts:
            with suppress(Abandoned):
                self._pass_on()
        with self._changed:
            self._error, self._has_ended = error, True
            self._wake()

    def _pass_on(self) -> None:
        size, parts = self._size, self.take()
        chunk: Chunk = parts if len(parts) <= _MOST_PARTS else [b"".join(parts)]
        with self._changed:
            while self._waiting > self._limit and not self._is_abandoned:
                self._changed.wait()
            if self._is_abandoned:
                raise Abandoned
            self._chunks.append(chunk)
            self._waiting += size
            self._wake()

    def _wake(self) -> None:
        """Tell the event loop, if it waits: that costs a system call, and often a change of threads."""
        if self._is_awaited:
            self._is_awaited = False
            self._loop.call_soon_threadsafe(self._arrived.set)

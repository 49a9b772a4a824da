"""Arrow data from outside: read as it comes, and checked before anything trusts it."""

from __future__ import annotations

import io
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from lance_namespace import InvalidInputError

from lancespace_server import failures, messages

if TYPE_CHECKING:
    from lancespace_server.settings import ServerSettings
    from lancespace_server.uploads import Upload

_COPY_BYTES = 1 << 20
_SMALL_BYTES = 1 << 20
"""Messages up to this size are not counted for their caller; the buffer before them is."""

_CONTINUATION = b"\xff\xff\xff\xff"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """Exactly so many bytes, or less at the end."""


@contextmanager
def streamed(upload: Upload, settings: ServerSettings) -> Iterator[pa.RecordBatchReader]:
    """The batches as they come; for operations that commit at the end, or not at all."""
    try:
        yield _reader(_Messages(upload, upload, settings.max_batch_bytes))
    finally:
        upload.close()


@contextmanager
def spooled(upload: Upload, settings: ServerSettings) -> Iterator[pa.RecordBatchReader]:
    """The batches once all have come and are sound; for operations that leave a mark before they read.

    ``create_table`` reserves its name first: a body that breaks off must not leave it behind. The file has no name, so
    it is gone with the process, however that ends.
    """
    try:
        head = upload.read(settings.buffer_bytes)
        more = upload.read(1)
        if not more:
            yield _twice(io.BytesIO(head), upload, settings)
            return
        with tempfile.TemporaryFile(dir=settings.spool_directory) as file:
            file.write(head + more)
            shutil.copyfileobj(upload, file, _COPY_BYTES)
            yield _twice(file, upload, settings)
    finally:
        upload.close()


def _twice(file: io.BytesIO | io.BufferedRandom, upload: Upload, settings: ServerSettings) -> pa.RecordBatchReader:
    """Read to the end to see that all is sound, then again for the caller."""
    file.seek(0)
    for _ in _reader(_Messages(file, upload, settings.max_batch_bytes)):
        pass
    file.seek(0)
    return _reader(_Messages(file, upload, settings.max_batch_bytes))


class _Messages:
    """An IPC stream as a file for pyarrow, which gets each message once it is known not to be too large."""

    closed = False

    def __init__(self, source: _Readable, upload: Upload, limit: int) -> None:
        self._source = source
        self._upload = upload
        self._limit = limit
        self._parts: list[bytes] = []

    def read(self, size: int) -> bytes:
        """What pyarrow asks for: the length of a message's metadata in two halves, its metadata, its body."""
        if not self._parts:
            self._parts = self._next()
        part = self._parts.pop(0) if self._parts else b""
        if size < len(part):
            self._parts.insert(0, part[size:])
        return part[:size]

    def readable(self) -> bool:
        """Say to pyarrow that this is a file to read from."""
        return True

    def close(self) -> None:
        """Nothing to do: the body is not ours."""

    def _next(self) -> list[bytes]:
        """The parts of the next message; none at the end."""
        start = self._source.read(4)
        length = self._source.read(4) if start == _CONTINUATION else b""
        size = int.from_bytes(length or start, "little", signed=True)
        if size <= 0:
            return [part for part in (start, length) if part]
        if len(start + length) % 4 or (not length and size > self._limit):  # Old streams have no mark before the size.
            raise ValueError("it does not begin as one")
        metadata = self._take(size)
        body = self._take(messages.body_size(metadata))
        self._check(messages.unpacked_size(metadata, body))
        return [part for part in (start, length, metadata, body) if part]

    def _take(self, size: int) -> bytes:
        if self._upload.ends_before(size):
            raise ValueError("it is shorter than it says")
        self._check(size)
        return self._source.read(size)

    def _check(self, size: int) -> None:
        if size < 0:
            raise ValueError("a message has a negative size")
        if size > self._limit:
            self._upload.refuse(failures.too_large("A record batch of the body", self._limit, "max_batch_bytes"))
            raise OSError("a record batch is too large")
        if size > _SMALL_BYTES:
            self._upload.hold(size)


def _reader(source: _Messages) -> pa.RecordBatchReader:
    with _refused():
        batches = pa.ipc.open_stream(pa.PythonFile(source, mode="r"))
        for field in batches.schema:
            _check_names(field)
    return pa.RecordBatchReader.from_batches(batches.schema, _checked(batches))


def _check_names(field: pa.Field) -> None:
    """Find that all names and notes are UTF-8, which pyarrow does not ask for and Lance cannot do without."""
    texts = [field.name.encode(), *(text for pair in (field.metadata or {}).items() for text in pair)]
    for text in texts:
        text.decode()
    for number in range(field.type.num_fields):
        _check_names(field.type.field(number))


def _checked(source: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches, none of which points outside of itself: native code relies on that, and crashes otherwise."""
    with _refused():
        for batch in source:
            batch.validate(full=True)
            yield batch


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, MemoryError, struct.error) as error:
        text = str(error).partition("\n")[0]
        raise InvalidInputError(f"The body is not a sound Arrow IPC stream: {text:.300}") from error

"""Arrow data from outside: read as it comes, and checked before anything trusts it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    from lancespace_server.settings import ServerSettings
    from lancespace_server.uploads import Upload

_COPY_BYTES = 1 << 20


@contextmanager
def streamed(upload: Upload) -> Iterator[pa.RecordBatchReader]:
    """The batches as they come; for operations that commit at the end, or not at all."""
    try:
        yield _reader(lambda: pa.PythonFile(upload, mode="r"))
    finally:
        upload.close()


@contextmanager
def spooled(upload: Upload, settings: ServerSettings) -> Iterator[pa.RecordBatchReader]:
    """The batches once all have come and are sound; for operations that leave a mark before they read.

    ``create_table`` reserves its name first: a body that breaks off must not leave it behind.
    """
    try:
        head = upload.read(settings.buffer_bytes)
        more = upload.read(1)
        if not more:
            yield _twice(lambda: pa.BufferReader(head))
            return
        with tempfile.NamedTemporaryFile(dir=settings.spool_directory, prefix="lancespace-") as file:
            file.write(head + more)
            shutil.copyfileobj(upload, file, _COPY_BYTES)
            file.flush()
            yield _twice(lambda: pa.OSFile(file.name))
    finally:
        upload.close()


def _twice(open_source: Callable[[], Any]) -> pa.RecordBatchReader:
    """Read to the end to see that all is sound, then again for the caller."""
    for _ in _reader(open_source):
        pass
    return _reader(open_source)


def _reader(open_source: Callable[[], Any]) -> pa.RecordBatchReader:
    with _refused():
        source = pa.ipc.open_stream(open_source())
        for field in source.schema:
            _check_names(field)
    return pa.RecordBatchReader.from_batches(source.schema, _checked(source))


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
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        text = str(error).partition("\n")[0]
        raise InvalidInputError(f"The body is not a sound Arrow IPC stream: {text:.300}") from error

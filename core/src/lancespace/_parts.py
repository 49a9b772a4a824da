"""Arrow data as it is written: the buffers of a batch, which need not be copied to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

Bytes: TypeAlias = "bytes | memoryview | pa.Buffer"

_PIECE_BYTES = 1 << 18
"""The most that is sent at once: what a sender copies of it is small enough to come from memory that is still warm."""

_SMALL_BYTES = 1 << 14
"""Parts up to this size are put together."""


class Parts:
    """A file to write to, which keeps what it is given; :class:`pyarrow.PythonFile` gives it buffers as they are."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[Bytes] = []
        self._size = 0
        self._position = 0

    def write(self, data: Bytes) -> int:
        """Keep some bytes."""
        size = len(data)
        self._position += size
        self._size += size
        self._parts.append(data)
        return size

    def take(self) -> list[Bytes]:
        """What was written since it was last asked."""
        parts, self._parts, self._size = self._parts, [], 0
        return parts

    def tell(self) -> int:
        """How much was written; the Arrow file format notes where its batches are."""
        return self._position

    def flush(self) -> None:
        """Nothing to do: who reads asks."""

    def writable(self) -> bool:
        """Say to pyarrow that this is a file to write to."""
        return True

    def close(self) -> None:
        """Nothing to do: what was written is still to be taken."""


def pieces(parts: list[Bytes]) -> Iterator[bytes | memoryview]:
    """The same bytes in pieces that are neither tiny nor large."""
    small: list[Bytes] = []
    for part in parts:
        if len(part) <= _SMALL_BYTES:
            small.append(part)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield from sliced(memoryview(part))
    if small:
        yield b"".join(small)


def sliced(view: memoryview) -> Iterator[memoryview]:
    """Bytes in pieces that are not large, without a copy."""
    for start in range(0, len(view), _PIECE_BYTES):
        yield view[start : start + _PIECE_BYTES]

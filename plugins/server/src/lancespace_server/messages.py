"""The messages of an Arrow IPC stream, measured before anybody unpacks them.

What a batch takes in memory need not be in proportion to what was sent: buffers may be compressed, and a column of
nulls has none at all. Its metadata, a flatbuffer, tells: see Message.fbs and Schema.fbs of the Arrow format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_DICTIONARY, _BATCH = 2, 3
"""Kinds of messages; those of other kinds have no rows."""

_ROW_BYTES = 8
"""What a row counts at least: Lance numbers rows."""

_KIND, _HEADER, _BODY_BYTES = 1, 2, 3
_DICTIONARY_DATA = 1
_ROWS, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3
"""Which fields these are in their tables."""


def body_size(metadata: bytes) -> int:
    """How many bytes follow a message's metadata.

    Raises:
        struct.error: If the metadata is no such flatbuffer.
    """
    return _Table.root(metadata).number("<q", _BODY_BYTES)


def unpacked_size(metadata: bytes, body: bytes) -> int:
    """How many bytes a message's batch has in memory: all buffers, but a byte for each value at least.

    Raises:
        struct.error: As above.
    """
    message = _Table.root(metadata)
    kind = message.number("<B", _KIND)
    if kind not in {_DICTIONARY, _BATCH}:
        return 0
    batch = message.table(_HEADER)
    if batch is not None and kind == _DICTIONARY:
        batch = batch.table(_DICTIONARY_DATA)
    if batch is None:
        return 0
    values = sum(max(length, 0) for length, _ in batch.pairs(_NODES))
    buffers = sum(_sizes(batch, body))
    return max(values, buffers, batch.number("<q", _ROWS) * _ROW_BYTES)


def _sizes(batch: _Table, body: bytes) -> Iterator[int]:
    """The size of each buffer; a compressed one begins with it, or with -1 if it is not compressed after all."""
    is_compressed = batch.table(_COMPRESSION) is not None
    for offset, length in batch.pairs(_BUFFERS):
        if is_compressed and length:
            (unpacked,) = struct.unpack_from("<q", body, offset)
            yield max(unpacked, length)
        else:
            yield max(length, 0)


class _Table:
    """A table of a flatbuffer: it begins with the way back to a list of where its fields are."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = start
        self._fields = start - self._read("<i", start)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        (start,) = struct.unpack_from("<I", data)
        return cls(data, start)

    def number(self, form: str, field: int) -> int:
        """A number; 0, the default of all that are asked for, if it is not there."""
        place = self._place(field)
        return self._read(form, place) if place else 0

    def table(self, field: int) -> _Table | None:
        """The table that a field refers to, if it is there."""
        place = self._place(field)
        return _Table(self._data, place + self._read("<I", place)) if place else None

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        """The pairs of 64-bit numbers that a field refers to."""
        place = self._place(field)
        if not place:
            return
        place += self._read("<I", place)
        for number in range(self._read("<I", place)):
            yield struct.unpack_from("<qq", self._data, place + 4 + 16 * number)

    def _place(self, field: int) -> int:
        """Where a field is; 0 if it is not there."""
        slot = 4 + 2 * field
        if slot >= self._read("<H", self._fields):
            return 0
        offset = self._read("<H", self._fields + slot)
        return self._start + offset if offset else 0

    def _read(self, form: str, place: int) -> int:
        number: int = struct.unpack_from(form, self._data, place)[0]
        return number

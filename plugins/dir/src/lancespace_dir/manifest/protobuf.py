"""The wire format of protocol buffers, as far as the files of table versions use it.

A message stays a list of numbered fields, so that what we do not know is written back as it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Field = tuple[int, "int | bytes"]
"""The number of a field and its value: an integer, or the bytes of a string or of a message."""

_VARINT = 0
_BYTES = 2
_LOW_BITS = 0x7F
_MORE = 0x80


def decode(data: bytes) -> Iterator[Field]:
    """The fields of a message, in their order.

    Raises:
        ValueError: If a field is of a kind that none of these messages has.
    """
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        value, position = _varint(data, position)
        if key & 7 == _VARINT:
            yield key >> 3, value
        elif key & 7 == _BYTES:
            yield key >> 3, data[position : position + value]
            position += value
        else:
            raise ValueError(f"field {key >> 3} is of the unknown kind {key & 7}")


def encode(fields: Iterable[Field]) -> bytes:
    """A message of these fields."""
    message = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            _append(message, number << 3 | _VARINT)
            _append(message, value)
        else:
            _append(message, number << 3 | _BYTES)
            _append(message, len(value))
            message += value
    return bytes(message)


def packed(numbers: Iterable[int]) -> bytes:
    """The value of a repeated integer field."""
    value = bytearray()
    for number in numbers:
        _append(value, number)
    return bytes(value)


def as_bytes(value: int | bytes) -> bytes:
    """The value of a field that is a string or a message.

    Raises:
        TypeError: If it is an integer.
    """
    if isinstance(value, int):
        raise TypeError("a field has a number where a string or a message should be")
    return value


def _append(message: bytearray, number: int) -> None:
    while number > _LOW_BITS:
        message.append(number & _LOW_BITS | _MORE)
        number >>= 7
    message.append(number)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """An integer, and where it ends."""
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & _LOW_BITS) << shift
        if byte < _MORE:
            return number, position
        shift += 7

"""One version of the manifest's table, as it stands in a file of ``_versions``, and the file of the next version.

Lance itself commits by putting the next file where none is yet. It lists, reads and writes more than that around it,
since it can be given any operation on any table. A commit to a catalog is simpler: some fragments go, some come. So
we write the file of the next version ourselves, from the one before. Whatever that has which we do not know makes it
not ``plain``, and then the commit is left to Lance.
"""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from lancespace_dir.manifest import fragments, protobuf
from lancespace_dir.manifest.fragments import Fragment

if TYPE_CHECKING:
    from lancespace_dir.manifest.protobuf import Field

_FOOTER = struct.Struct("<QHH4s")
_MAGIC = b"LANC"
_FORMAT_VERSION = (0, 2)
"""The version of the file format that is written and understood here."""
_LENGTH = struct.Struct("<I")

_FIELDS, _FRAGMENTS, _VERSION, _SCHEMA_METADATA, _INDEX_SECTION, _TIMESTAMP = 1, 2, 3, 5, 6, 7
_READER_FLAGS, _WRITER_FLAGS, _MAX_FRAGMENT, _TRANSACTION_FILE = 9, 10, 11, 12
_WRITER, _FORMAT, _CONFIG, _METADATA, _OLD_TRANSACTION, _TRANSACTION = 13, 15, 16, 19, 21, 23
_SCHEMA = frozenset({_FIELDS, _SCHEMA_METADATA, _FORMAT})
_KEPT = _SCHEMA | {_WRITER, _CONFIG, _METADATA}
"""Fields that the next version has as they are."""
_MADE = frozenset(
    {_FRAGMENTS, _VERSION, _INDEX_SECTION, _TIMESTAMP, _READER_FLAGS, _WRITER_FLAGS, _MAX_FRAGMENT}
    | {_TRANSACTION_FILE, _OLD_TRANSACTION, _TRANSACTION}
)
"""Fields that are made anew for every version."""

_HAS_DELETIONS, _HAS_CONFIG, _NO_TRANSACTION_FILES = 1, 8, 32
_PLAIN_FLAGS = _HAS_DELETIONS | _HAS_CONFIG | _NO_TRANSACTION_FILES
_UPDATE = 108
"""The number of the operation Update in a transaction."""


class Snapshot:
    """A version, from its file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        start, *version, magic = _FOOTER.unpack(data[-_FOOTER.size :])
        if (*version, magic) != (*_FORMAT_VERSION, _MAGIC):
            raise ValueError("the file of a table version does not end as one that is known")
        self._message: list[Field] = list(protobuf.decode(_section(data, start)))
        both = ((Fragment.parse(raw), raw) for raw in self._all(_FRAGMENTS))
        self._fragments = sorted(both, key=lambda pair: pair[0].id)
        """The fragments and their messages, in the order of their numbers."""
        pairs = (dict(protobuf.decode(raw)) for raw in self._all(_METADATA))
        self.metadata = {_text(pair.get(1)): _text(pair.get(2)) for pair in pairs}
        """The table's metadata map."""

    @classmethod
    def parse(cls, data: bytes) -> Snapshot | None:
        """A version, or None if its file has a format that is not known: then Lance is to read and to write."""
        try:
            return cls(data)
        except (ValueError, TypeError, IndexError, struct.error):
            return None

    @cached_property
    def field_ids(self) -> tuple[int, ...]:
        """The numbers of the schema's fields, children after their parents."""
        return tuple(int(dict(protobuf.decode(raw)).get(3, 0)) for raw in self._all(_FIELDS))

    @cached_property
    def format(self) -> str:
        """The version of the data files' format."""
        return "".join(_text(dict(protobuf.decode(raw)).get(2)) for raw in self._all(_FORMAT))

    @cached_property
    def version(self) -> int:
        """Its number."""
        return self._number(_VERSION)

    @cached_property
    def schema(self) -> list[Field]:
        """What describes the columns: as long as it is equal, so is the schema."""
        return [field for field in self._message if field[0] in _SCHEMA]

    @cached_property
    def fragments(self) -> dict[str, Fragment]:
        """The fragments by data file, in the order of their numbers."""
        return {fragment.path: fragment for fragment, _ in self._fragments}

    @cached_property
    def files(self) -> frozenset[str]:
        """Everything in the table's directory that it needs; the path of an index ends with a slash."""
        found = {f"_transactions/{_text(value)}" for number, value in self._message if number == _TRANSACTION_FILE}
        found.update(*(fragments.files(raw) for _, raw in self._fragments))
        for number, index in protobuf.decode(self._indexes or b""):
            if number == 1:
                identifier = _message(_message(index)[1])[1]
                found.add(f"_indices/{uuid.UUID(bytes=protobuf.as_bytes(identifier))}/")
        return frozenset(found)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all that is in it is known, so that the next version can be written from it."""
        flags = self._number(_READER_FLAGS) | self._number(_WRITER_FLAGS)
        known = all(number in _KEPT or number in _MADE for number, _ in self._message)
        return known and not flags & ~_PLAIN_FLAGS and all(fragments.is_plain(raw) for _, raw in self._fragments)

    def successor(
        self, name: str, gone: Collection[int], deletions: Mapping[int, bytes], new: Sequence[bytes]
    ) -> bytes:
        """The file of the next version: without some fragments, with new deletion files of some, and with new ones.

        It says in its own transaction what it did, as Lance's own files do, so that others' commits find out whether
        they can still be made on top of it.
        """
        kept = {fragment.id: raw for fragment, raw in self._fragments if fragment.id not in gone}
        changed = {number: fragments.with_deletions(kept[number], file) for number, file in deletions.items()}
        first = 1 + max([self._number(_MAX_FRAGMENT), *(fragment.id for fragment, _ in self._fragments)])
        numbered = {number: fragments.with_id(raw, number) for number, raw in enumerate(new, first)}
        sections = _Sections()
        positions = [(_TRANSACTION, sections.add(_transaction(self.version, name, gone, changed.values(), new)))]
        if self._indexes is not None:
            positions.append((_INDEX_SECTION, sections.add(self._indexes)))
        flag = _HAS_DELETIONS if deletions else 0
        message: list[Field] = [
            *(field for field in self._message if field[0] in _KEPT),
            *((_FRAGMENTS, raw) for raw in {**kept, **changed, **numbered}.values()),
            (_VERSION, self.version + 1),
            (_TIMESTAMP, _now()),
            (_READER_FLAGS, self._number(_READER_FLAGS) | flag),
            (_WRITER_FLAGS, self._number(_WRITER_FLAGS) | flag),
            (_MAX_FRAGMENT, first + len(new) - 1),
            *positions,
        ]
        start = sections.add(protobuf.encode(message))
        return sections.data + _FOOTER.pack(start, *_FORMAT_VERSION, _MAGIC)

    @cached_property
    def _indexes(self) -> bytes | None:
        """The descriptions of the table's indexes; none of them becomes wrong when fragments go or come."""
        start = next((int(value) for number, value in self._message if number == _INDEX_SECTION), None)
        return None if start is None else _section(self.data, start)

    def _all(self, wanted: int) -> list[bytes]:
        return [protobuf.as_bytes(value) for number, value in self._message if number == wanted]

    def _number(self, wanted: int) -> int:
        return next((int(value) for number, value in self._message if number == wanted), 0)


class _Sections:
    """The parts of a file, each with its length before it."""

    def __init__(self) -> None:
        self.data = b""

    def add(self, section: bytes) -> int:
        """Append one, and say where it begins."""
        start = len(self.data)
        self.data += _LENGTH.pack(len(section)) + section
        return start


def _section(data: bytes, start: int) -> bytes:
    (length,) = _LENGTH.unpack_from(data, start)
    return data[start + _LENGTH.size : start + _LENGTH.size + length]


def _transaction(
    version: int, name: str, gone: Collection[int], changed: Iterable[bytes], new: Iterable[bytes]
) -> bytes:
    update: list[Field] = [(1, protobuf.packed(gone))] if gone else []
    update += [(2, raw) for raw in changed]
    update += [(3, raw) for raw in new]
    return protobuf.encode([(1, version), (2, name.encode()), (_UPDATE, protobuf.encode(update))])


def _now() -> bytes:
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return protobuf.encode([(1, seconds), (2, nanoseconds)])


def _message(value: int | bytes) -> dict[int, int | bytes]:
    return dict(protobuf.decode(protobuf.as_bytes(value)))


def _text(value: int | bytes | None) -> str:
    return protobuf.as_bytes(value or b"").decode()

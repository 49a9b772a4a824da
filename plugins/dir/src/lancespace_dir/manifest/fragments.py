"""Fragments as the file of a table version has them: protocol buffer messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lancespace_dir.manifest import protobuf
from lancespace_dir.manifest.segments import path_of

if TYPE_CHECKING:
    from lancespace_dir.manifest.protobuf import Field

_ID, _FILES, _DELETION_FILE, _ROWS = 1, 2, 3, 4
_PLAIN = frozenset({_ID, _FILES, _DELETION_FILE, _ROWS})
_BITMAP = 1
"""The kind of a deletion file that is not a plain list of rows, which is 0."""


@dataclass(frozen=True)
class Fragment:
    """What is to be known of a fragment without reading it."""

    id: int
    path: str
    """Its data files; unlike its number, they never mean anything else."""
    physical_rows: int
    deleted_rows: int
    """Deletions are never taken back, so their number tells whether there are new ones."""

    @classmethod
    def of(cls, metadata: Any) -> Fragment:
        """From pylance's description of it."""
        deletions = metadata.deletion_file
        deleted = 0 if deletions is None else int(deletions.num_deleted_rows)
        return cls(metadata.id, path_of(metadata), metadata.physical_rows, deleted)

    @classmethod
    def parse(cls, raw: bytes) -> Fragment:
        """From its message."""
        fields = list(protobuf.decode(raw))
        single = dict(fields)
        files = [dict(protobuf.decode(protobuf.as_bytes(value))) for number, value in fields if number == _FILES]
        deletions = dict(protobuf.decode(protobuf.as_bytes(single.get(_DELETION_FILE, b""))))
        path = " ".join(protobuf.as_bytes(file.get(1, b"")).decode() for file in files)
        return cls(int(single.get(_ID, 0)), path, int(single.get(_ROWS, 0)), int(deletions.get(4, 0)))


def new_fragment(metadata: Any) -> bytes:
    """The message of a fragment that pylance wrote; it gets its number in the commit."""
    files: list[Field] = [(_FILES, _data_file(file)) for file in metadata.files]
    return protobuf.encode([*files, (_ROWS, metadata.physical_rows)])


def deletion_file(metadata: Any) -> bytes:
    """The message of the deletion file that pylance wrote for a fragment."""
    file = metadata.deletion_file
    kind = _BITMAP if file.file_type == "bitmap" else 0
    return protobuf.encode([(1, kind), (2, file.read_version), (3, file.id), (4, file.num_deleted_rows)])


def files(raw: bytes) -> Iterator[str]:
    """The files of a fragment, below the table's directory."""
    fields = list(protobuf.decode(raw))
    for value in (protobuf.as_bytes(value) for number, value in fields if number == _FILES):
        yield f"data/{protobuf.as_bytes(dict(protobuf.decode(value)).get(1, b'')).decode()}"
    for value in (protobuf.as_bytes(value) for number, value in fields if number == _DELETION_FILE):
        file = dict(protobuf.decode(value))
        suffix = "bin" if file.get(1) == _BITMAP else "arrow"
        fragment, version, number = (int(value) for value in (dict(fields).get(_ID, 0), file.get(2, 0), file.get(3, 0)))
        yield f"_deletions/{fragment}-{version}-{number}.{suffix}"


def with_deletions(raw: bytes, file: bytes) -> bytes:
    """A fragment with another deletion file."""
    others = (field for field in protobuf.decode(raw) if field[0] != _DELETION_FILE)
    return protobuf.encode([*others, (_DELETION_FILE, file)])


def with_id(raw: bytes, number: int) -> bytes:
    """A new fragment with its number."""
    return protobuf.encode([(_ID, number)]) + raw


def is_plain(raw: bytes) -> bool:
    """Whether all that is in it is known; a fragment of an old writer may not tell how many rows it has."""
    fields = dict(protobuf.decode(raw))
    return fields.keys() <= _PLAIN and bool(fields.get(_ROWS))


def _data_file(file: Any) -> bytes:
    return protobuf.encode(
        [
            (1, file.path.encode()),
            (2, protobuf.packed(file.fields)),
            (3, protobuf.packed(file.column_indices)),
            (4, file.file_major_version),
            (5, file.file_minor_version),
            (6, file.file_size_bytes or 0),
        ]
    )

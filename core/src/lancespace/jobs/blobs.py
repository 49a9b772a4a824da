"""Columns of blobs: a scan gives where their bytes are, and that cannot be written to another file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lance_namespace import UnsupportedOperationError

if TYPE_CHECKING:
    import pyarrow as pa

_MARK = b"lance-encoding:blob"
_EXTENSION = "lance.blob"


def refuse(schema: pa.Schema, doing: str, instead: str) -> None:
    """Say in time that a job which writes rows anew cannot do that.

    Raises:
        UnsupportedOperationError: If a column is one of blobs, or holds some.
    """
    for field in schema:
        if any(map(_is_blob, _with_children(field))):
            raise UnsupportedOperationError(f"{doing}: the column {field.name!r} holds blobs: {instead}")


def _with_children(field: pa.Field) -> Iterable[pa.Field]:
    import pyarrow as pa

    yield field
    if pa.types.is_nested(field.type):
        for number in range(field.type.num_fields):
            yield from _with_children(field.type.field(number))


def _is_blob(field: pa.Field) -> bool:
    is_marked = (field.metadata or {}).get(_MARK) == b"true"
    return is_marked or getattr(field.type, "extension_name", "").startswith(_EXTENSION)

"""Columns that the folders of a file name, as in ``day=2024-01-31``, and not the file itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    import pyarrow as pa

Values = tuple[tuple[str, "str | None"], ...]

_NULL = "__HIVE_DEFAULT_PARTITION__"
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Without leading zeros: 01234 is a name."""
_SMALL = 1 << 31


def of(path: str, place: str) -> Values:
    """The columns that the folders of a file name: those below the place that was given, however that is named.

    A file that was given itself has those of the folders right above it.
    """
    if path == place:
        folders = list(takewhile(lambda folder: "=" in folder, reversed(path.split("/")[:-1])))[::-1]
    else:
        folders = path[len(place) :].split("/")[:-1]
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return tuple((name, None if text == _NULL else unquote(text)) for name, _, text in pairs)


def types(files: Iterable[Values]) -> dict[str, pa.DataType]:
    """The type of each column, by all that is in it: whole numbers, or text."""
    import pyarrow as pa

    texts: dict[str, set[str]] = {}
    for name, text in (pair for values in files for pair in values):
        texts.setdefault(name, set()).update([] if text is None else [text])

    def choose(seen: set[str]) -> pa.DataType:
        if not seen or not all(map(_NUMBER.fullmatch, seen)):
            return pa.string()
        return pa.int32() if all(-_SMALL <= int(one) < _SMALL for one in seen) else pa.int64()

    return {name: choose(seen) for name, seen in texts.items()}


def column(text: str | None, type_: pa.DataType, rows: int) -> pa.Array:
    """The value in every row."""
    import pyarrow as pa

    if text is None:
        return pa.nulls(rows, type_)
    value = pa.scalar(text)
    if pa.types.is_timestamp(type_) and type_.tz is not None:  # Delta writes them in UTC, mostly without saying so.
        value = pa.scalar(text.removesuffix("Z")).cast(pa.timestamp(type_.unit))
    return pa.repeat(value.cast(type_), rows)

"""The files that an import reads: single ones, all of a folder, or those that a Delta table consists of."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

import fsspec
import pyarrow as pa
import pyarrow.dataset as pads
from lance_namespace import InvalidInputError

from lancespace_jobs import _delta as delta
from lancespace_jobs._delta import Values

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "ipc",
    ".feather": "feather",
}
"""What files are, by the end of their names."""
TEXT = frozenset({"csv", "json"})
"""Formats that do not tell the types of their columns."""
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
"""What may follow the name of a file of text: Arrow then unpacks it."""
_TIMES = ("mtime", "LastModified", "last_modified", "updated")


@dataclass(frozen=True)
class SourceFile:
    """One file, by its URL."""

    path: str
    format: str
    stamp: str
    """Changes with the content, as far as the store tells."""
    values: tuple[tuple[str, str | None], ...] = ()
    """Columns that are not in the file, as its folders (``day=1``) or the log of a Delta table tell."""
    schema: bytes | None = None
    """The columns of the Delta table that it is of, as Arrow has them."""

    def dataset(self, schema: pa.Schema | None = None) -> Any:
        """The file as Arrow reads it, in the types that it finds, or in those of ``schema``."""
        filesystem, inside = fsspec.core.url_to_fs(self.path)
        return pads.dataset(inside, schema, self.format, filesystem)


def find(places: Sequence[str], wanted: str | None) -> list[SourceFile]:
    """All files of some places, sorted, each with its format.

    Raises:
        InvalidInputError: If there is none, or the format is unknown.
    """
    known = frozenset(FORMATS.values())
    if wanted is not None and wanted not in known:
        raise InvalidInputError(f"format must be one of {', '.join(sorted(known))}, not {wanted!r}")
    found = [file for place in places for file in _present(place, wanted)]
    if not found:
        raise InvalidInputError(
            f"there is nothing to import in {', '.join(places)}: files must end in {', '.join(FORMATS)}, "
            "or their format be given"
        )
    return found


def _present(place: str, wanted: str | None) -> list[SourceFile]:
    """The files of one place, which must be there: otherwise a misspelt one of several would be passed over."""
    filesystem, path = fsspec.core.url_to_fs(place)
    details = filesystem.find(path, detail=True)
    if not details and not filesystem.exists(path):
        raise InvalidInputError(f"there is no file or folder {place!r}")
    table = delta.read(filesystem, path)
    return _below(filesystem, path, details, wanted) if table is None else _live(filesystem, table, details)


def _below(filesystem: Any, path: str, details: Mapping[str, Any], wanted: str | None) -> list[SourceFile]:
    """The files of a folder, or the one that the path is of."""
    _refuse_delta_below(path, details)
    return [
        SourceFile(filesystem.unstrip_protocol(one), kind, _stamp(details[one]), _folder_values(one, path))
        for one in sorted(details)
        if not _is_hidden(one[len(path) :]) and (kind := wanted or _format(one))
    ]


def _live(filesystem: Any, table: delta.DeltaTable, details: Mapping[str, Any]) -> list[SourceFile]:
    """The files of the latest version of a Delta table."""
    if gone := [path for path in table.files if path not in details]:
        raise InvalidInputError(
            f"the Delta table {table.folder} names the file {gone[0]}, which is gone (VACUUM may have deleted it): "
            "restore it, or import what Spark reads of the table"
        )
    return [
        SourceFile(filesystem.unstrip_protocol(one), "parquet", _stamp(details[one]), values, table.schema)
        for one, values in sorted(table.files.items())
    ]


def _refuse_delta_below(path: str, details: Mapping[str, Any]) -> None:
    inside = f"/{delta.LOG}/"
    if logs := sorted(one.partition(inside)[0] for one in details if inside in one[len(path) :]):
        raise InvalidInputError(
            f"the folder {path} holds the Delta table {logs[0]}, some of whose files may be of old versions: "
            "import each Delta table by its own folder"
        )


def _format(path: str) -> str | None:
    name = path.lower()
    kind = next((kind for suffix, kind in FORMATS.items() if name.endswith(suffix)), None)
    stem, ending = posixpath.splitext(name)
    if kind is None and ending in _COMPRESSED:
        return next((kind for suffix, kind in FORMATS.items() if kind in TEXT and stem.endswith(suffix)), None)
    return kind


def _stamp(details: Mapping[str, Any]) -> str:
    """An entity tag where the store has one, otherwise the time of the last change, and the size."""
    tag = details.get("ETag") or details.get("etag") or next((details[name] for name in _TIMES if name in details), "")
    return f"{tag} {details['size']}"


def _is_hidden(below: str) -> bool:
    """Whether it is a mark or a log of another tool, as Spark and others leave beside their files."""
    return any(part.startswith(("_", ".")) for part in below.split("/"))


_NULL = "__HIVE_DEFAULT_PARTITION__"
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Without leading zeros: 01234 is a name."""
_SMALL = 1 << 31


def _folder_values(path: str, place: str) -> Values:
    """The columns that the folders of a file name: those below the place that was given, however that is named.

    A file that was given itself has those of the folders right above it.
    """
    if path == place:
        folders = list(takewhile(lambda folder: "=" in folder, reversed(path.split("/")[:-1])))[::-1]
    else:
        folders = path[len(place) :].split("/")[:-1]
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return tuple((name, None if text == _NULL else unquote(text)) for name, _, text in pairs)


def partition_types(files: Iterable[Values]) -> dict[str, pa.DataType]:
    """The type of each column, by all that is in it: whole numbers, or text."""
    texts: dict[str, set[str]] = {}
    for name, text in (pair for values in files for pair in values):
        texts.setdefault(name, set()).update([] if text is None else [text])

    def choose(seen: set[str]) -> pa.DataType:
        if not seen or not all(map(_NUMBER.fullmatch, seen)):
            return pa.string()
        return pa.int32() if all(-_SMALL <= int(one) < _SMALL for one in seen) else pa.int64()

    return {name: choose(seen) for name, seen in texts.items()}


def partition_column(text: str | None, type_: pa.DataType, rows: int) -> pa.Array:
    """The value in every row."""
    if text is None:
        return pa.nulls(rows, type_)
    value = pa.scalar(text)
    if pa.types.is_timestamp(type_) and type_.tz is not None:  # Delta writes them in UTC, mostly without saying so.
        value = pa.scalar(text.removesuffix("Z")).cast(pa.timestamp(type_.unit))
    return pa.repeat(value.cast(type_), rows)

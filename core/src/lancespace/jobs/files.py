"""The files that an import reads: single ones, all of a folder, or those that a Delta table consists of."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.jobs import delta, partitions

if TYPE_CHECKING:
    import pyarrow as pa

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
        """The file as Arrow reads it, in the types that it finds or is told."""
        import fsspec
        import pyarrow.dataset as pads

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
    import fsspec

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
        SourceFile(filesystem.unstrip_protocol(one), kind, _stamp(details[one]), partitions.of(one, path))
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

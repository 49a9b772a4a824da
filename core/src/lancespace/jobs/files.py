"""The files that an import reads: single ones, all of a folder, or those that a Delta table consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lance_namespace import InvalidInputError

from lancespace.jobs import delta

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


@dataclass(frozen=True)
class SourceFile:
    """One file, by its URL."""

    path: str
    format: str
    size: int
    """In bytes."""

    def dataset(self) -> Any:
        """The file as Arrow reads it; columns that its folders name (``day=1``) are part of it."""
        import fsspec
        import pyarrow.dataset as pads

        filesystem, inside = fsspec.core.url_to_fs(self.path)
        return pads.dataset(inside, format=self.format, filesystem=filesystem, partitioning="hive")


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

    found = _below(place, wanted)
    filesystem, path = fsspec.core.url_to_fs(place)
    if not found and not filesystem.exists(path):
        raise InvalidInputError(f"there is no file or folder {place!r}")
    return found


def _below(place: str, wanted: str | None) -> list[SourceFile]:
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(place)
    live = delta.live_files(filesystem, path)
    details = filesystem.find(path, detail=True)
    chosen = [one for one in sorted(details) if not _is_hidden(one[len(path) :])] if live is None else live
    named = [(one, wanted or _format(one)) for one in chosen]
    return [SourceFile(filesystem.unstrip_protocol(one), kind, details[one]["size"]) for one, kind in named if kind]


def _format(path: str) -> str | None:
    return next((kind for suffix, kind in FORMATS.items() if path.lower().endswith(suffix)), None)


def _is_hidden(below: str) -> bool:
    """Whether it is a mark or a log of another tool, as Spark and others leave beside their files."""
    return any(part.startswith(("_", ".")) for part in below.split("/"))

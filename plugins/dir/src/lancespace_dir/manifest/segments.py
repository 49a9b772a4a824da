"""The rows of one fragment, in memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lancespace_dir.manifest.schema import Entry

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_MOST_KEPT = 10_000
"""Entries of a segment, asked for before."""


@dataclass
class Segment:
    """Rows as they were read, and where each of them is in storage. Some may have been deleted since."""

    path: str
    """The data files; unlike a fragment's number, they never mean anything else."""
    rows: pa.Table
    offsets: npt.NDArray[np.int64]
    """Each row's physical offset in the file."""
    _kept: dict[int, Entry] = field(default_factory=dict, repr=False)

    def entry(self, row: int) -> Entry:
        """One row as an entry; those that were asked for last are kept, as they are likely to be asked for again."""
        found = self._kept.get(row)
        if found is None:
            object_id, object_type, location, metadata, bases = (column[row].as_py() for column in self._columns)
            found = Entry(object_id, object_type, location, metadata, None if bases is None else tuple(bases))
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[row] = found
        return found

    @functools.cached_property
    def _columns(self) -> list[pa.Array]:
        """The columns of an entry, each in one piece, which is faster to look into."""
        return [self.rows.column(name).combine_chunks() for name in _COLUMNS]

    def type_of(self, row: int) -> str:
        """The type of one row."""
        object_type: str = self._columns[1][row].as_py()
        return object_type

    def derived(self) -> list[int]:
        """The rows that have base objects; mostly there are none, and that is known at once."""
        bases = self._columns[_COLUMNS.index("base_objects")]
        return [] if bases.null_count == len(bases) else np.flatnonzero(bases.is_valid()).tolist()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The identifier and type of every row."""
        return zip(self.ids(), self.rows.column("object_type").to_pylist(), strict=True)

    def ids(self) -> list[str]:
        """The identifier of every row."""
        ids: list[str] = self.rows.column("object_id").to_pylist()
        return ids


_COLUMNS = tuple(Entry.__dataclass_fields__)


def whole(path: str, rows: pa.Table) -> Segment:
    """The segment of a file that was just written: every row is at its own place."""
    return Segment(path, rows, np.arange(rows.num_rows, dtype=np.int64))


def read(fragment: Any) -> Segment:
    """Read a fragment's live rows and their offsets."""
    rows = fragment.scanner(with_row_address=True).to_table()
    return Segment(path_of(fragment.metadata), rows.drop_columns(["_rowaddr"]), _offsets(rows))


def live_offsets(fragment: Any) -> npt.NDArray[np.int64]:
    """The offsets of the rows that are not deleted, without reading any column."""
    return _offsets(fragment.scanner(columns=[], with_row_address=True).to_table())


def path_of(metadata: Any) -> str:
    """The data files of a fragment: usually one, and another for each time that columns were added."""
    return " ".join(file.path for file in metadata.files)


def _offsets(rows: pa.Table) -> npt.NDArray[np.int64]:
    """The physical offsets of rows that were read with their addresses."""
    addresses = rows.column("_rowaddr").to_numpy()
    offsets: npt.NDArray[np.int64] = (addresses & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return offsets

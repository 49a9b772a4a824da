"""The rows of one fragment, in memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lancespace.authoring import Steps, relative_steps
from lancespace_dir.manifest.schema import Entry
from lancespace_dir.root import RANDOM_LENGTH, TABLE_SUFFIX

if TYPE_CHECKING:
    import numpy.typing as npt

Located = dict[Steps, list[int]]
"""Rows by location."""

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

    def located(self, steps: Steps) -> Iterator[int]:
        """The rows with a chosen location that is the given one, contains it, or lies inside it."""
        at, inside = self._chosen
        for depth in range(1, len(steps) + 1):
            yield from at.get(steps[:depth], ())
        yield from inside.get(steps, ())

    @property
    def has_chosen(self) -> bool:
        """Whether there is a row with a chosen location."""
        return bool(self._chosen[0])

    @functools.cached_property
    def _chosen(self) -> tuple[Located, Located]:
        """The rows whose location does not follow from their identifier: by location, and by each directory above it.

        These are few: the others are found by their identifier.
        """
        at: Located = {}
        inside: Located = {}
        ids, locations = self._columns[0], self._columns[_COLUMNS.index("location")]
        follows = pc.or_(
            pc.equal(pc.utf8_slice_codeunits(locations, RANDOM_LENGTH), ids),
            pc.equal(locations, pc.binary_join_element_wise(ids, TABLE_SUFFIX, "")),
        )
        chosen = pc.or_(pc.invert(follows), pc.match_substring(locations, "/"))
        for row in np.flatnonzero(pc.fill_null(chosen, fill_value=False)).tolist():
            steps = relative_steps(locations[row].as_py())
            at.setdefault(steps, []).append(row)
            for depth in range(1, len(steps)):
                inside.setdefault(steps[:depth], []).append(row)
        return at, inside

    def below(self, prefix: str) -> list[int]:
        """The rows whose identifier begins with a prefix."""
        rows: list[int] = np.flatnonzero(pc.starts_with(self._columns[0], prefix)).tolist()
        return rows

    def entries(self, rows: list[int]) -> list[Entry]:
        """Many rows as entries at once."""
        columns = (column.take(pa.array(rows, pa.int64())).to_pylist() for column in self._columns)
        return [
            Entry(object_id, object_type, location, metadata, None if bases is None else tuple(bases))
            for object_id, object_type, location, metadata, bases in zip(*columns, strict=True)
        ]

    def pairs(self, rows: npt.NDArray[np.int64] | None = None) -> Iterator[tuple[str, str]]:
        """The identifier and type of every row, or of some."""
        found = self.rows.select(["object_id", "object_type"])
        found = found if rows is None else found.take(rows)
        return zip(*(column.to_pylist() for column in found.columns), strict=True)

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

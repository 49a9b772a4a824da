"""All entries of the manifest by identifier, in memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lancespace.identifiers import DELIMITER

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from lancespace_dir.manifest.schema import Entry
    from lancespace_dir.manifest.segments import Segment

Place = tuple["Segment", int]
"""Where an entry is: a segment and a row of it."""

Listings = dict[tuple[str, str], list[str]]
"""Sorted identifiers by parent and type."""

_EVERYWHERE = DELIMITER
"""Stands for a parent of everything; no identifier is a bare delimiter."""
_ROW_BITS = 32
_ROW = (1 << _ROW_BITS) - 1


class Index:
    """Where every entry is, and the sorted children of every namespace.

    Catalogs are large, so an entry costs little: an item of a dict from its identifier to a number that stands for
    segment and row. Its cells stay in Arrow until they are asked for. The listings hold the same strings, are only
    built when something is listed, and are kept up from then on.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._segments: dict[int, Segment] = {}
        self._numbers: dict[str, int] = {}
        self._next_number = 0
        self._listings: Listings | None = None

    def __len__(self) -> int:
        return len(self._places)

    def paths(self) -> set[str]:
        """The data files that are taken in."""
        return set(self._numbers)

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        place = self._places.get(object_id)
        return None if place is None else self._segments[place >> _ROW_BITS].entry(place & _ROW)

    def has(self, object_id: str, object_type: str) -> bool:
        """Whether there is an entry of this type."""
        ids = self._sorted().get((parent_of(object_id), object_type), [])
        spot = bisect_left(ids, object_id)
        return spot < len(ids) and ids[spot] == object_id

    def place(self, object_id: str) -> Place | None:
        """Where an entry is, or None."""
        place = self._places.get(object_id)
        return None if place is None else (self._segments[place >> _ROW_BITS], place & _ROW)

    def segment(self, path: str) -> Segment:
        """The segment of a data file."""
        return self._segments[self._numbers[path]]

    def live_rows(self, path: str) -> list[int]:
        """The rows of a data file's segment that count."""
        return [row for row, _, _ in self._live(self._numbers[path])]

    def children(self, parent: str, object_type: str, after: str | None = None, count: int | None = None) -> list[str]:
        """Names right below ``parent``, sorted: so many, from after a name on."""
        prefix = f"{parent}{DELIMITER}" if parent else ""
        found = self._slice((parent, object_type), None if after is None else prefix + after, count)
        return [object_id[len(prefix) :] for object_id in found]

    def all_of(self, object_type: str, after: str | None = None, count: int | None = None) -> list[str]:
        """Identifiers of one type, sorted: so many, from after one on."""
        return self._slice((_EVERYWHERE, object_type), after, count)

    def derived(self) -> Iterator[Entry]:
        """The entries with base objects."""
        for number, segment in self._segments.items():
            for row in segment.derived():
                entry = segment.entry(row)
                if self._places.get(entry.object_id) == (number << _ROW_BITS) + row:
                    yield entry

    def add(self, segment: Segment) -> None:
        """Take the rows of a segment in; an entry that was elsewhere is now here."""
        number, self._next_number = self._next_number, self._next_number + 1
        self._segments[number], self._numbers[segment.path] = segment, number
        if self._listings is not None:
            for object_id, object_type in segment.pairs():
                self._list(self._listings, object_id, object_type)
        first = number << _ROW_BITS
        self._places.update(zip(segment.ids(), range(first, first + segment.rows.num_rows), strict=True))

    def discard(self, path: str) -> None:
        """Forget a data file, and the entries that are nowhere else by now."""
        for _, object_id, object_type in list(self._live(self._numbers[path])):
            self._forget(object_id, object_type)
        del self._segments[self._numbers.pop(path)]

    def keep_only(self, path: str, live: npt.NDArray[np.int64]) -> None:
        """Forget the entries of a data file whose offsets are not among ``live``: they were deleted."""
        alive = set(live.tolist())
        offsets = self.segment(path).offsets.tolist()
        for row, object_id, object_type in list(self._live(self._numbers[path])):
            if offsets[row] not in alive:
                self._forget(object_id, object_type)

    def _live(self, number: int) -> Iterator[tuple[int, str, str]]:
        """The rows of a segment that count, each with its identifier and type."""
        first = number << _ROW_BITS
        for row, (object_id, object_type) in enumerate(self._segments[number].pairs()):
            if self._places.get(object_id) == first + row:
                yield row, object_id, object_type

    def _list(self, listings: Listings, object_id: str, object_type: str) -> None:
        """Enter an identifier in the listings, unless it is there; it may have been there as another type."""
        place = self._places.get(object_id)
        if place is not None:
            old_type = self._segments[place >> _ROW_BITS].type_of(place & _ROW)
            if old_type == object_type:
                return
            self._forget(object_id, old_type)
        for key in _listings_of(object_id, object_type):
            insort(listings.setdefault(key, []), object_id)

    def _forget(self, object_id: str, object_type: str) -> None:
        del self._places[object_id]
        if self._listings is not None:
            for key in _listings_of(object_id, object_type):
                ids = self._listings[key]
                del ids[bisect_left(ids, object_id)]

    def _slice(self, key: tuple[str, str], after: str | None, count: int | None) -> list[str]:
        ids = self._sorted().get(key, [])
        start = 0 if after is None else bisect_right(ids, after)
        return ids[start:] if count is None else ids[start : start + count]

    def _sorted(self) -> Listings:
        """The listings; all identifiers are sorted once, which sorts those of each parent too."""
        if self._listings is None:
            types = {id_: type_ for number in self._segments for _, id_, type_ in self._live(number)}
            self._listings = {}
            for object_id in sorted(self._places):
                for key in _listings_of(object_id, types[object_id]):
                    self._listings.setdefault(key, []).append(object_id)
        return self._listings


def parent_of(object_id: str) -> str:
    """The identifier above this one; the root is empty."""
    return object_id.rpartition(DELIMITER)[0]


def _listings_of(object_id: str, object_type: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The listings that an entry is in."""
    return (parent_of(object_id), object_type), (_EVERYWHERE, object_type)

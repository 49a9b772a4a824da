"""All entries of the manifest in memory: by identifier, and in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lancespace.authoring import DELIMITER, relative_steps
from lancespace_dir.manifest.schema import TABLE, parent_of
from lancespace_dir.root import RANDOM_LENGTH, TABLE_SUFFIX

if TYPE_CHECKING:
    import numpy.typing as npt

    from lancespace_dir.manifest.schema import Entry
    from lancespace_dir.manifest.segments import Segment

Place = tuple["Segment", int]
"""Where an entry is: a segment and a row of it."""

Pair = tuple[str, str]
"""An identifier and its type."""

_EVERYWHERE = DELIMITER
"""Stands for a parent of everything; no identifier is a bare delimiter."""
_FEW = 64
"""Removing more ranges than this from a list one by one costs more than writing the list anew."""
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
        self._deleted: dict[int, npt.NDArray[np.bool_]] = {}
        """The rows of a segment that were deleted since it was read."""
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
        return self._sorted().has(object_id, object_type)

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
        """At most ``count`` names right below ``parent`` that sort after ``after``, sorted."""
        prefix = f"{parent}{DELIMITER}" if parent else ""
        found = self._sorted().children(parent, object_type, None if after is None else prefix + after, count)
        return [object_id[len(prefix) :] for object_id in found]

    def all_of(self, object_type: str, after: str | None = None, count: int | None = None) -> list[str]:
        """At most ``count`` identifiers of one type that sort after ``after``, sorted."""
        return self._sorted().all_of(object_type, after, count)

    def below(self, parent: str) -> list[Entry]:
        """The entries below ``parent``, to any depth; the listings are not built for that."""
        found: list[Entry] = []
        for number, segment in self._segments.items():
            rows = segment.below(f"{parent}{DELIMITER}")
            for row, entry in zip(rows, segment.entries(rows), strict=True):
                if self._places.get(entry.object_id) == (number << _ROW_BITS) + row:
                    found.append(entry)
        return found

    def tables_at(self, *locations: str) -> Iterator[tuple[str, Entry]]:
        """Each location with the tables whose location is the same, contains it, or lies inside it."""
        wanted = [(location, steps) for location in locations if (steps := relative_steps(location))]
        if not wanted:
            return  # What follows reads every location of the catalog, the first time.
        chosen = [(number, segment) for number, segment in self._segments.items() if segment.has_chosen]
        for location, steps in wanted:
            for object_id in {steps[0][RANDOM_LENGTH:], steps[0].removesuffix(TABLE_SUFFIX)} & self._places.keys():
                entry = self._segments[self._places[object_id] >> _ROW_BITS].entry(self._places[object_id] & _ROW)
                if entry.object_type == TABLE and entry.location == steps[0]:
                    yield location, entry
            for number, segment in chosen:
                for row in segment.located(steps):
                    entry = segment.entry(row)
                    if entry.object_type == TABLE and self._places.get(entry.object_id) == (number << _ROW_BITS) + row:
                        yield location, entry

    def is_location(self, location: str) -> bool:
        """Whether this very location is that of a table."""
        return any(relative_steps(entry.location or "") == (location,) for _, entry in self.tables_at(location))

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
        number = self._numbers.pop(path)
        self._forget([(object_id, object_type) for _, object_id, object_type in self._live(number)])
        del self._segments[number]
        self._deleted.pop(number, None)

    def keep_only(self, path: str, live: npt.NDArray[np.int64]) -> None:
        """Forget the entries of a data file whose offsets are not among ``live``: they were deleted."""
        number = self._numbers[path]
        segment = self._segments[number]
        deleted = ~np.isin(segment.offsets, live, assume_unique=True)
        before = self._deleted.get(number)
        self._deleted[number] = deleted
        new = np.flatnonzero(deleted if before is None else deleted & ~before)
        first = number << _ROW_BITS
        pairs = zip(new.tolist(), segment.pairs(new), strict=True)
        self._forget([pair for row, pair in pairs if self._places.get(pair[0]) == first + row])

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
            self._forget([(object_id, old_type)])
        listings.add(object_id, object_type)

    def _forget(self, pairs: Sequence[Pair]) -> None:
        for object_id, _ in pairs:
            del self._places[object_id]
        if self._listings is not None:
            self._listings.remove(pairs)

    def _sorted(self) -> Listings:
        """The listings, built when they are first needed."""
        if self._listings is None:
            types = {id_: type_ for number in self._segments for _, id_, type_ in self._live(number)}
            self._listings = Listings((object_id, types[object_id]) for object_id in self._places)
        return self._listings


class Listings:
    """Sorted lists of identifiers by parent and type; they hold the strings that they are given."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._lists: dict[Pair, list[str]] = {}
        for object_id, object_type in sorted(pairs):
            for key in _keys(object_id, object_type):
                self._lists.setdefault(key, []).append(object_id)

    def add(self, object_id: str, object_type: str) -> None:
        """Enter an identifier that is in no list."""
        for key in _keys(object_id, object_type):
            insort(self._lists.setdefault(key, []), object_id)

    def remove(self, pairs: Iterable[Pair]) -> None:
        """Take identifiers out, each with the type it is listed as."""
        gone: dict[Pair, list[str]] = {}
        for object_id, object_type in pairs:
            for key in _keys(object_id, object_type):
                gone.setdefault(key, []).append(object_id)
        for key, ids in gone.items():
            _remove(self._lists[key], ids)
            if not self._lists[key]:
                del self._lists[key]

    def has(self, object_id: str, object_type: str) -> bool:
        """Whether an identifier is listed as this type."""
        ids = self._lists.get((parent_of(object_id), object_type), [])
        spot = bisect_left(ids, object_id)
        return spot < len(ids) and ids[spot] == object_id

    def children(self, parent: str, object_type: str, after: str | None, count: int | None) -> list[str]:
        """At most ``count`` identifiers right below ``parent`` that sort after ``after``."""
        return _slice(self._lists.get((parent, object_type), []), after, count)

    def all_of(self, object_type: str, after: str | None, count: int | None) -> list[str]:
        """At most ``count`` identifiers of one type that sort after ``after``."""
        return self.children(_EVERYWHERE, object_type, after, count)


def _keys(object_id: str, object_type: str) -> tuple[Pair, Pair]:
    """The lists that an identifier is in."""
    return (parent_of(object_id), object_type), (_EVERYWHERE, object_type)


def _remove(ids: list[str], gone: list[str]) -> None:
    """Remove identifiers from a sorted list. What is below one parent is together in it, and goes at once."""
    gone.sort()
    runs = list(_runs(ids, gone))
    if len(runs) > _FEW:
        absent = set(gone)
        ids[:] = [object_id for object_id in ids if object_id not in absent]
        return
    for start, stop in reversed(runs):
        del ids[start:stop]


def _runs(ids: list[str], gone: list[str]) -> Iterator[tuple[int, int]]:
    """Where sorted identifiers are in a sorted list, as ranges."""
    done = 0
    while done < len(gone):
        start = bisect_left(ids, gone[done])
        length = 1
        while done + length < len(gone) and ids[start + length : start + length + 1] == [gone[done + length]]:
            length += 1
        yield start, start + length
        done += length


def _slice(ids: list[str], after: str | None, count: int | None) -> list[str]:
    start = 0 if after is None else bisect_right(ids, after)
    return ids[start:] if count is None else ids[start : start + count]

"""All entries of the manifest by identifier, in memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
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
"""Sorted names by parent and type."""

_EVERYWHERE = DELIMITER
"""Stands for a parent of everything; no identifier is a bare delimiter."""


class Index:
    """Where every entry is, and the sorted children of every namespace.

    An entry costs one dict item; its cells stay in Arrow until they are asked for. The listings are only built when
    something is listed, and kept up from then on.
    """

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._segments: dict[str, Segment] = {}
        self._listings: Listings | None = None

    def __len__(self) -> int:
        return len(self._places)

    def paths(self) -> set[str]:
        """The data files that are taken in."""
        return set(self._segments)

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        place = self._places.get(object_id)
        return None if place is None else place[0].entry(place[1])

    def place(self, object_id: str) -> Place | None:
        """Where an entry is, or None."""
        return self._places.get(object_id)

    def live_rows(self, path: str) -> list[int]:
        """The rows of a data file's segment that count."""
        segment = self._segments[path]
        return [row for row, object_id in enumerate(segment.ids()) if self._is_at(object_id, segment, row)]

    def segment(self, path: str) -> Segment:
        """The segment of a data file."""
        return self._segments[path]

    def children(self, parent: str, object_type: str, after: str | None = None, count: int | None = None) -> list[str]:
        """Names right below ``parent``, sorted: so many, from after a name on."""
        return _slice(self._sorted().get((parent, object_type), []), after, count)

    def all_of(self, object_type: str, after: str | None = None, count: int | None = None) -> list[str]:
        """Identifiers of one type, sorted: so many, from after one on."""
        return _slice(self._sorted().get((_EVERYWHERE, object_type), []), after, count)

    def add(self, segment: Segment) -> None:
        """Take the rows of a segment in; an entry that was elsewhere is now here."""
        self._segments[segment.path] = segment
        for row, (object_id, object_type) in enumerate(segment.keys()):
            if self._listings is not None and object_id not in self._places:
                for key, name in _listings_of(object_id, object_type):
                    insort(self._listings.setdefault(key, []), name)
            self._places[object_id] = (segment, row)

    def discard(self, path: str) -> None:
        """Forget a data file, and the entries that are nowhere else by now."""
        segment = self._segments.pop(path)
        for row, (object_id, object_type) in enumerate(segment.keys()):
            if self._is_at(object_id, segment, row):
                self._forget(object_id, object_type)

    def keep_only(self, path: str, live: npt.NDArray[np.int64]) -> None:
        """Forget the entries of a data file whose offsets are not among ``live``: they were deleted."""
        alive = set(live.tolist())
        segment = self._segments[path]
        for row, ((object_id, object_type), offset) in enumerate(
            zip(segment.keys(), segment.offsets.tolist(), strict=True)
        ):
            if offset not in alive and self._is_at(object_id, segment, row):
                self._forget(object_id, object_type)

    def _is_at(self, object_id: str, segment: Segment, row: int) -> bool:
        place = self._places.get(object_id)
        return place is not None and place[0] is segment and place[1] == row

    def _forget(self, object_id: str, object_type: str) -> None:
        del self._places[object_id]
        if self._listings is not None:
            for key, name in _listings_of(object_id, object_type):
                names = self._listings[key]
                del names[bisect_left(names, name)]

    def _sorted(self) -> Listings:
        """The listings; all identifiers are sorted once, which sorts those of each parent too."""
        if self._listings is None:
            keys: dict[str, str] = {}
            for segment in self._segments.values():
                keys.update(key for row, key in enumerate(segment.keys()) if self._is_at(key[0], segment, row))
            self._listings = {}
            for object_id in sorted(keys):
                for key, name in _listings_of(object_id, keys[object_id]):
                    self._listings.setdefault(key, []).append(name)
        return self._listings


def parent_of(object_id: str) -> str:
    """The identifier above this one; the root is empty."""
    return object_id.rpartition(DELIMITER)[0]


def _listings_of(object_id: str, object_type: str) -> tuple[tuple[tuple[str, str], str], ...]:
    """The listings that an entry is in, and its name there."""
    parent, _, name = object_id.rpartition(DELIMITER)
    return ((parent, object_type), name), ((_EVERYWHERE, object_type), object_id)


def _slice(names: list[str], after: str | None, count: int | None) -> list[str]:
    start = 0 if after is None else bisect_right(names, after)
    return names[start:] if count is None else names[start : start + count]

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


def parent_of(object_id: str) -> str:
    """The identifier above this one; the root is empty."""
    return object_id.rpartition(DELIMITER)[0]


class Index:
    """Where every entry is, and the sorted children of every namespace.

    An entry costs one dict item; its cells stay in Arrow until they are asked for. The children are only built when
    something is listed, and kept up from then on.
    """

    def __init__(self) -> None:
        self._places: dict[str, tuple[Segment, int]] = {}
        self._segments: dict[str, list[Segment]] = {}
        self._children: dict[tuple[str, str], list[str]] | None = None

    def __len__(self) -> int:
        return len(self._places)

    def paths(self) -> set[str]:
        """The data files that are taken in."""
        return set(self._segments)

    def get(self, object_id: str) -> Entry | None:
        """The entry, or None."""
        place = self._places.get(object_id)
        return None if place is None else place[0].entry(place[1])

    def place(self, object_id: str) -> tuple[Segment, int] | None:
        """The segment and row of an entry, or None."""
        return self._places.get(object_id)

    def children(self, parent: str, object_type: str, after: str | None = None, count: int | None = None) -> list[str]:
        """Names right below ``parent``, sorted: so many, from after a name on."""
        return _slice(self._all_children().get((parent, object_type), []), after, count)

    def all_of(self, object_type: str, after: str | None = None, count: int | None = None) -> list[str]:
        """Identifiers of one type, sorted: so many, from after one on."""
        return _slice(self._all_children().get((_EVERYWHERE, object_type), []), after, count)

    def add(self, segment: Segment) -> None:
        """Take the rows of a segment in; a row that was elsewhere is now here."""
        self._segments.setdefault(segment.path, []).append(segment)
        for row, (object_id, object_type) in enumerate(zip(segment.ids(), segment.types(), strict=True)):
            if self._children is not None and object_id not in self._places:
                for key, name in _listings(object_id, object_type):
                    insort(self._children.setdefault(key, []), name)
            self._places[object_id] = (segment, row)

    def discard(self, path: str) -> None:
        """Forget a data file, and the entries that are nowhere else by now."""
        for segment in self._segments.pop(path, ()):
            for object_id, object_type in zip(segment.ids(), segment.types(), strict=True):
                place = self._places.get(object_id)
                if place is not None and place[0] is segment:
                    self._forget(object_id, object_type)

    def keep_only(self, path: str, live: npt.NDArray[np.int64]) -> None:
        """Forget the entries of a data file whose offsets are not among ``live``: they were deleted."""
        alive = set(live.tolist())
        for segment in self._segments.get(path, ()):
            for row, offset in enumerate(segment.offsets.tolist()):
                if offset not in alive:
                    self.remove(segment, row)

    def remove(self, segment: Segment, row: int) -> None:
        """Forget one row, if it is still the place of its entry."""
        object_id = segment.rows.column("object_id")[row].as_py()
        place = self._places.get(object_id)
        if place is not None and place[0] is segment and place[1] == row:
            self._forget(object_id, segment.rows.column("object_type")[row].as_py())

    def live_rows(self, path: str) -> Iterator[tuple[Segment, list[int]]]:
        """The segments of a data file with the rows that count, in the order of the file."""
        for segment in self._segments.get(path, ()):
            ids = segment.ids()
            yield segment, [row for row, object_id in enumerate(ids) if self._places.get(object_id) == (segment, row)]

    def _forget(self, object_id: str, object_type: str) -> None:
        del self._places[object_id]
        if self._children is not None:
            for key, name in _listings(object_id, object_type):
                names = self._children[key]
                del names[bisect_left(names, name)]

    def _all_children(self) -> dict[tuple[str, str], list[str]]:
        if self._children is None:
            children: dict[tuple[str, str], list[str]] = {}
            for segment, row in self._places.values():
                object_id, object_type = segment.key(row)
                for key, name in _listings(object_id, object_type):
                    children.setdefault(key, []).append(name)
            for names in children.values():
                names.sort()
            self._children = children
        return self._children


_EVERYWHERE = DELIMITER
"""Stands for a parent of everything; no identifier is a bare delimiter."""


def _listings(object_id: str, object_type: str) -> tuple[tuple[tuple[str, str], str], ...]:
    """The sorted listings that an entry is in, and its name there."""
    parent, _, name = object_id.rpartition(DELIMITER)
    return ((parent, object_type), name), ((_EVERYWHERE, object_type), object_id)


def _slice(names: list[str], after: str | None, count: int | None) -> list[str]:
    start = 0 if after is None else bisect_right(names, after)
    return names[start:] if count is None else names[start : start + count]

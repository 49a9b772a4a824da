"""The identifiers of the manifest in order: the children of each parent, and everything of one type."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

from lancespace.identifiers import DELIMITER

Pair = tuple[str, str]
"""An identifier and its type."""

_EVERYWHERE = DELIMITER
"""Stands for a parent of everything; no identifier is a bare delimiter."""
_FEW = 64
"""Removing more ranges than this from a list one by one costs more than writing the list anew."""


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


def parent_of(object_id: str) -> str:
    """The identifier above this one; the root is empty."""
    return object_id.rpartition(DELIMITER)[0]


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

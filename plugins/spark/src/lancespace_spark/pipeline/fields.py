"""The kinds of steps, and what each of their fields must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lance_namespace import InvalidInputError

from lancespace.authoring import identifiers


@dataclass(frozen=True)
class Type:
    """What a field must be, in words for a message, and the test of it."""

    wanted: str
    fits: Callable[[Any], bool]


def _is_text(given: Any) -> bool:
    return isinstance(given, str) and bool(given.strip())


def _is_name(given: Any) -> bool:
    if not _is_text(given):
        return False
    try:
        return bool(identifiers.parse(given))
    except InvalidInputError:
        return False


def _are_texts(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and all(map(_is_text, given))


def _is_count(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given > 0


def _is_days(given: Any) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool) and given >= 0


def _is_function(given: Any) -> bool:
    return isinstance(given, str) and all(part.strip() for part in given.split(":")) and given.count(":") == 1


def _are_sizes(given: Any) -> bool:
    return isinstance(given, Mapping) and all(map(_is_text, given)) and all(map(_is_count, given.values()))


TEXT = Type("a text that is not empty", _is_text)
NAME = Type("the dotted name of a table, e.g. 'shop.orders'", _is_name)
NAMES = Type("a list of names", _are_texts)
PLACES = Type("a path or URL, or a list of them", lambda given: _is_text(given) or (_are_texts(given) and bool(given)))
FUNCTION = Type("of the form 'module:name'", _is_function)
SIZES = Type("a table of columns and the sizes of their vectors, e.g. { vector = 768 }", _are_sizes)
OPTIONS = Type("a table of options, e.g. { num_partitions = 16 }", lambda given: isinstance(given, Mapping))
COUNT = Type("a whole number above 0", _is_count)
DAYS = Type("a number of days, 0 or more", _is_days)


@dataclass(frozen=True)
class Kind:
    """The fields that a kind of step needs and those that it may have, and the modes that it knows."""

    needed: Mapping[str, Type]
    optional: Mapping[str, Type] = field(default_factory=dict)
    modes: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, Type]:
        """All of them."""
        return {**self.needed, **self.optional}


KINDS: dict[str, Kind] = {
    "ingest": Kind({"files": PLACES, "into": NAME}, {"format": TEXT, "mode": TEXT}, ("append", "overwrite")),
    "transform": Kind(
        {"from": NAME, "into": NAME},
        {"sql": TEXT, "function": FUNCTION, "schema": TEXT, "vectors": SIZES, "mode": TEXT, "key": NAMES},
        ("append", "overwrite", "upsert"),
    ),
    "index": Kind({"table": NAME, "column": TEXT, "type": TEXT}, {"index": TEXT, "options": OPTIONS}),
    "view": Kind({"view": NAME, "sql": TEXT}),
    "compact": Kind({"table": NAME}, {"target_rows_per_fragment": COUNT}),
    "clean_up": Kind({"table": NAME}, {"older_than_days": DAYS}),
}
ALIASES = {"clean": "transform", "embed": "transform", "upsert": "transform"}
"""Other names for a kind, for files that read better by them."""
COMMON = {"name": TEXT, "kind": TEXT, "after": NAMES}
"""Fields of every step."""

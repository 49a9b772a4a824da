"""Locations below one root, compared step by step: whether two tables would share files."""

from __future__ import annotations

from collections.abc import Sequence

from lance_namespace import InvalidInputError

from lancespace import identifiers

Steps = tuple[str, ...]
"""A location from the root down, ``("sales", "t.lance")``."""


def relative_steps(location: str) -> Steps:
    """The steps of a location below a root."""
    return tuple(step for step in location.split("/") if step not in {"", "."})


def touch(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two locations are the same, or one lies inside the other."""
    return all(step == its for step, its in zip(one, other, strict=False))


def location_taken(location: str, names: Sequence[str]) -> InvalidInputError:
    """The error for a location whose files belong to another table."""
    return InvalidInputError(
        f"The location {location!r} is that of the table {identifiers.show(names)!r}, contains it, or lies inside it: "
        "choose another location, or deregister that table first."
    )

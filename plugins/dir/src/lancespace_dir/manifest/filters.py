"""Filters for rows of the manifest, where it is read and not in memory."""

from __future__ import annotations

from lancespace.storage.locations import relative_steps
from lancespace_dir.manifest.schema import TABLE


def tables_at(location: str) -> str:
    """The filter for tables at a location, above or below it; other writers may end one with a slash."""
    steps = relative_steps(location)
    above = ["/".join(steps[:depth]) for depth in range(1, len(steps) + 1)]
    exact = ", ".join(quoted(path + end) for path in above for end in ("", "/"))
    below = quoted("/".join(steps) + "/")
    return f"object_type = '{TABLE}' AND (location IN ({exact}) OR starts_with(location, {below}))"


def quoted(text: str) -> str:
    """A string of SQL."""
    return "'" + text.replace("'", "''") + "'"

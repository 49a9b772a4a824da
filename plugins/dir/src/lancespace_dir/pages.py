"""Listings that leave names out."""

from __future__ import annotations

from collections.abc import Callable

Fetch = Callable[["str | None", "int | None"], "list[str]"]
"""Takes a name and a count; answers at most that number of names after it, sorted, or all if the count is None."""


def filtered(fetch: Fetch, keep: Callable[[str], bool]) -> Fetch:
    """A listing of the names to keep, which asks for more until a page is full."""

    def fetch_kept(after: str | None, count: int | None) -> list[str]:
        kept: list[str] = []
        while True:
            names = fetch(after, count)
            kept += [name for name in names if keep(name)]
            if count is None or len(names) < count or len(kept) >= count:
                return kept[:count]
            after = names[-1]

    return fetch_kept

"""Versions of a table by age."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lancespace_cli.options import all_tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace import Namespace


def descending(ns: Namespace, name: str, branch: str | None = None) -> Iterator[Any]:
    """The versions of a table, the latest first, page by page as they are consumed."""
    token: str | None = None
    while True:
        page = ns.list_table_versions(name, branch=branch, descending=True, page_token=token)
        yield from page.versions
        if not page.page_token or page.page_token == token:
            return
        token = page.page_token


def old_versions(ns: Namespace, name: str, age: timedelta) -> list[int]:
    """The versions that a clean-up would delete: all that are older, save for the latest and tagged ones."""
    from lance_namespace import InvalidTableStateError

    oldest_kept = (datetime.now(timezone.utc) - age).timestamp() * 1000
    try:
        _, *others = descending(ns, name)
    except InvalidTableStateError:
        return []  # It is declared, and has no version yet.
    tagged = {found.version for _, found in all_tags(ns, name) if not found.branch}
    return [one.version for one in others if one.timestamp_millis < oldest_kept and one.version not in tagged]

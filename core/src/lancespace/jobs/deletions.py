"""The files in which Lance marks rows of a fragment as deleted, before and after a commit that names them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lancespace.handles import TableHandle

_ENDINGS = {"array": "arrow", "bitmap": "bin"}
"""By the type of the file, as a fragment's metadata has it."""


def path_of(fragment: dict[str, Any] | None) -> str | None:
    """Where the marks of a fragment, given as a JSON value, are in its table; None if it has none."""
    marks = None if fragment is None else fragment["deletion_file"]
    if fragment is None or marks is None:
        return None
    return f"_deletions/{fragment['id']}-{marks['read_version']}-{marks['id']}.{_ENDINGS[marks['file_type']]}"


def withdraw(handle: TableHandle, fragments: Iterable[dict[str, Any] | None]) -> None:
    """Remove the marks of fragments, given as JSON values, whose commit was refused."""
    place = handle.place()
    storage = handle.storage(place)
    for path in filter(None, map(path_of, fragments)):
        with suppress(FileNotFoundError):
            storage.filesystem.rm_file(storage.path(f"{place.location}/{path}"))

"""The root of a directory catalog, and the locations below it."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lance_namespace import InvalidInputError

from lancespace.storage import scheme_of

TABLE_SUFFIX = ".lance"
JOBS = "__jobs"
"""The directory of the records of jobs."""
MAX_DIRECTORY_BYTES = 255


def normalise(root: str) -> str:
    """The root as a location: absolute, without a trailing slash, ``~`` and ``file://`` resolved."""
    if scheme_of(root) != "file":
        return root.rstrip("/")
    path = unquote(urlsplit(root).path) if root.lower().startswith("file://") else root
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - Path.absolute keeps the dots


def root_location(name: str) -> str:
    """Where a table of the root namespace is, so that V1 readers find it too."""
    return f"{name}{TABLE_SUFFIX}"


def new_location(object_id: str) -> str:
    """A place for a table that is in no V1 reader's way.

    The random part spreads tables over the partitions of an object store, and keeps a table that is dropped and
    created again apart from what is left of the old one. A long identifier is cut, since it is only there for people
    to see.
    """
    readable = object_id.encode()[: MAX_DIRECTORY_BYTES - 9].decode(errors="ignore")
    return f"{secrets.token_hex(4)}_{readable}"


def relative(location: str, root: str) -> str:
    """A location below the root, as the manifest has it.

    Raises:
        InvalidInputError: If it is not below the root.
    """
    inside = location
    if scheme_of(location) != "file" or location.startswith(("/", "file://")):
        absolute = normalise(location)
        if not absolute.startswith(f"{root}/"):
            _refuse(location, root)
        inside = absolute[len(root) + 1 :]
        inside = inside if scheme_of(location) == "file" else unquote(inside)
    parts = inside.split("/")
    if not inside or any(part in {"", ".", ".."} for part in parts) or re.search(r"[\x00-\x1f\\]", inside):
        _refuse(location, root)
    if parts[0].startswith("__manifest") or parts[0] == JOBS:
        raise InvalidInputError(f"The location {location!r} belongs to the catalog itself: choose another.")
    return inside


def _refuse(location: str, root: str) -> None:
    raise InvalidInputError(
        f"The location {location!r} is not below the catalog's root {root!r}: "
        "give a path relative to the root, without '..'."
    )

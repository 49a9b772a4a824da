"""The root of a directory catalog, and the locations below it."""

from __future__ import annotations

import atexit
import functools
import os
import re
import secrets
import shutil
import tempfile
import uuid
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lance_namespace import InvalidInputError

from lancespace.authoring import is_staged, redact_url, registry, scheme_of

TABLE_SUFFIX = ".lance"
RESERVED = ".lance-reserved"
"""Marks the directory of a table that was declared."""
DEREGISTERED = ".lance-deregistered"
"""Marks the directory of a table that was deregistered: V1 readers do not show it."""
CLAIM = ".lance-deleting-"
"""Begins the name of a mark in a directory that a drop or fsck is about to delete, unless a table is there by then."""
_MANIFEST = "__manifest"
"""Begins the name of the manifest's directory."""
JOBS = "__jobs"
"""The directory of the records of jobs."""
MEMORY = "memory"
"""The scheme of roots that live as long as the process."""
MAX_DIRECTORY_BYTES = 255
RANDOM_LENGTH = 9
"""The number of characters before the identifier in a location that :func:`new_location` makes."""


def normalise(root: str) -> str:
    """The root as a location: absolute, without a trailing slash, ``~`` and ``file://`` resolved."""
    scheme = scheme_of(root)
    if scheme == MEMORY:
        return _in_memory(root)
    if scheme != "file":
        return root.rstrip("/")
    path = unquote(urlsplit(root).path) if root.lower().startswith("file://") else root
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - Path.absolute keeps the dots


def _in_memory(url: str) -> str:
    """The directory that stands for a URL in memory; all connections of the process find the same tables there.

    Raises:
        InvalidInputError: If the URL leads out of memory.
    """
    base = _memory()
    path = os.path.abspath(f"{base}/{unquote(urlsplit(url).netloc + urlsplit(url).path)}")  # noqa: PTH100 - as below
    if path != base and not path.startswith(f"{base}/"):
        raise InvalidInputError(f"The location {url!r} leads out of memory: leave '..' out.")
    return path


@functools.cache
def _memory() -> str:
    """A directory for what is kept in memory; the process that made it deletes it at its end."""
    folder = tempfile.mkdtemp(prefix="lancespace-memory-")
    atexit.register(_forget, folder, os.getpid())
    return folder


def _forget(folder: str, owner: int) -> None:
    """Delete what is in memory, unless this is a child that was forked from the owner."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def check_root(root: str) -> None:
    """See that a catalog can be at a root, without a request to any store.

    What is no place would otherwise look like an empty catalog until somebody writes to it.

    Raises:
        InvalidInputError: If the URL of a store names no bucket, or something other than a directory is in the way.
    """
    scheme = scheme_of(root)
    if scheme in {"file", MEMORY}:
        _require_directory(normalise(root))
        return
    rest = root.partition("://")[2]
    bucket = rest.partition("/")[0].partition("@")[0]  # Azure's may name the account behind it.
    needs_bucket = scheme in registry.STORAGE.extras  # A store of somebody else's may have none.
    if not rest.strip("/") or (needs_bucket and not bucket):
        raise InvalidInputError(
            f"The root {redact_url(root)!r} names no bucket or container: give one, as in {scheme}://bucket/path."
        )


def _require_directory(path: str) -> None:
    """See that a path, or what is nearest above it, is a directory; what may not be looked at is left for later."""
    above = map(str, Path(path).parents)
    nearest = next(place for place in (path, *above) if os.path.exists(place))  # noqa: PTH110 - Path would raise
    if not Path(nearest).is_dir():
        raise InvalidInputError(
            f"The root {path!r} cannot hold a catalog, because {nearest!r} is a file: "
            "give a directory, or a path where one can be made."
        )


def root_location(name: str) -> str:
    """Where a table of the root namespace is, so that V1 readers find it too."""
    return f"{name}{TABLE_SUFFIX}"


def can_be_shown(name: str) -> bool:
    """Whether a directory that shows a table of this name to V1 readers can have its own name."""
    return len(root_location(name).encode()) <= MAX_DIRECTORY_BYTES


def new_location(object_id: str) -> str:
    """A place for a table that is in no V1 reader's way: its name does not end as those that a V1 reader lists.

    The random part spreads tables over the partitions of an object store, and keeps a table that is dropped and
    created again apart from what is left of the old one. A long identifier is cut, since it is only there for people
    to see.
    """
    readable = object_id.encode()[: MAX_DIRECTORY_BYTES - RANDOM_LENGTH].decode(errors="ignore")
    while readable.endswith(TABLE_SUFFIX):
        readable = readable.removesuffix(TABLE_SUFFIX)
    return f"{secrets.token_hex(4)}_{readable}"


def relative(location: str, root: str) -> str:
    """A location below the root, as the manifest has it.

    Raises:
        InvalidInputError: If it is not below the root, or may be another location, too.
    """
    inside = location
    if scheme_of(location) != "file" or location.startswith(("/", "file://")):
        absolute = normalise(location)
        if not absolute.startswith(f"{root}/"):
            _refuse(location, root)
        inside = absolute[len(root) + 1 :]
        inside = inside if scheme_of(location) in {"file", MEMORY} else unquote(inside)
    parts = inside.split("/")
    if not inside or any(part in {"", ".", ".."} for part in parts) or re.search(r"[\x00-\x1f\\]", inside):
        _refuse(location, root)
    if belongs_to_catalog(parts[0]) or any(map(_is_mark, parts)):
        raise InvalidInputError(f"The location {location!r} belongs to the catalog itself: choose another.")
    if scheme_of(root) == "file" and leads_over_link(inside, root):
        raise InvalidInputError(
            f"The location {location!r} leads over a symbolic link, so it may be that of another table: "
            "give the path that the link stands for."
        )
    return inside


def leads_over_link(inside: str, root: str) -> bool:
    """Whether a local path below the root has a symbolic link in it."""
    return os.path.realpath(f"{root}/{inside}") != f"{os.path.realpath(root)}/{inside}"


def belongs_to_catalog(name: str) -> bool:
    """Whether what is in the root under this name is the catalog's own; no generated location has such a name."""
    return name == JOBS or (name.startswith(_MANIFEST) and not name.endswith(TABLE_SUFFIX))


def new_claim() -> str:
    """The name of a mark for a directory that is to be deleted."""
    return f"{CLAIM}{uuid.uuid4().hex}"


def is_claim(name: str) -> bool:
    """Whether a file in a directory says that it is to be deleted."""
    return name.startswith(CLAIM)


def _is_mark(name: str) -> bool:
    return is_staged(name) or name in {RESERVED, DEREGISTERED} or is_claim(name)


def _refuse(location: str, root: str) -> None:
    raise InvalidInputError(
        f"The location {location!r} is not below the catalog's root {root!r}: "
        "give a path relative to the root, without '..'."
    )

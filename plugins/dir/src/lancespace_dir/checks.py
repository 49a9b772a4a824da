"""What can be wrong in a directory catalog, found by looking at the manifest and the directory side by side.

Nothing here changes anything; :mod:`.repairs` mends. Crashes of writers leave most of it, and none of it is in the way
of a reader.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from lance_namespace import UnsupportedOperationError

from lancespace import identifiers
from lancespace.engines.records import CHECKPOINT_DAYS
from lancespace.jobs.stages import FOLDER
from lancespace.storage.local import STAGED_PREFIX
from lancespace_dir.listing import DEREGISTERED, RESERVED, Listing
from lancespace_dir.manifest.index import parent_of
from lancespace_dir.manifest.schema import DIRECTORY, NAMESPACE, TABLE, TABLE_VERSION, Entry
from lancespace_dir.manifest.segments import whole
from lancespace_dir.root import JOBS, TABLE_SUFFIX
from lancespace_dir.v2 import ManifestCatalog

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.storage import Storage

ORPHAN_TABLE = "orphan table"
ORPHAN_DIRECTORY = "orphan directory"
MISSING_LOCATION = "missing location"
DUPLICATE_ROW = "duplicate row"
NO_NAMESPACE = "no namespace"
NO_TABLE = "version without a table"
NO_SOURCE = "view without a source"
NO_VERSION = "table without a version"
STALE_RESERVATION = "stale reservation"
LEFTOVER = "leftover"

RESERVATION = frozenset({RESERVED, FOLDER})
"""All that is in the directory of a table before its first version."""
_FIRST_WRITE = RESERVATION | {"data"}
"""All that is in it while its first version is written."""
_OURS = re.compile(rf"[0-9a-f]{{8}}_.+|.+{re.escape(TABLE_SUFFIX)}")
"""What directories of tables are called, unless somebody chose a location."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be."""

    kind: str
    subject: str
    """The row's identifier as a person writes it, or a path below the root."""
    detail: str
    object_id: str = field(default="", repr=False)
    """The row's identifier as the manifest has it."""


def check(namespace: Namespace, *, older_than: timedelta) -> Iterator[Finding]:
    """Everything that is wrong in a directory catalog.

    ``older_than`` spares reservations and files of writers that may still be at work.

    Raises:
        UnsupportedOperationError: If the namespace is no directory catalog, or leaves the manifest out that is there.
    """
    backend = namespace.backend
    if not hasattr(backend, "catalog") or not hasattr(backend, "storage"):
        raise UnsupportedOperationError(f"{namespace!r} is no directory catalog: there is nothing to check.")
    look = Look(backend, older_than)
    yield from _rows(look)
    yield from _tables(look)
    yield from _directory(look)
    yield from _jobs(look)


class Look:
    """The catalog as it is now: the rows of the manifest, and what is in storage."""

    def __init__(self, backend: Any, older_than: timedelta) -> None:
        catalog = backend.catalog
        self.storage: Storage = backend.storage
        self._oldest = datetime.now(timezone.utc) - older_than
        has_manifest = isinstance(catalog, ManifestCatalog)
        self.listing = Listing(self.storage, beside_manifest=has_manifest)
        self.shows_v1 = catalog.with_v1 if has_manifest else True
        self.entries = all_rows(catalog) if has_manifest else []
        self.names = self.contents("")
        if not has_manifest and DIRECTORY in self.names:
            raise UnsupportedOperationError(
                "This catalog has a manifest, and without it nobody can tell what belongs to it: connect with "
                "manifest_enabled=true to check it."
            )

    def contents(self, location: str) -> set[str]:
        """What is at a location below the root."""
        path = self.path(location)
        try:
            found = [str(entry).rstrip("/") for entry in self.storage.filesystem.ls(path, detail=False)]
        except (FileNotFoundError, NotADirectoryError):
            return set()
        return {entry.rpartition("/")[2] for entry in found if entry != path}

    def is_old(self, location: str) -> bool:
        """Whether nothing below a location is younger than what is to be spared."""
        path = self.path(location)
        times = (self.storage.filesystem.modified(file) for file in self.storage.filesystem.find(path) or [path])
        return all(_aware(time) < self._oldest for time in times)

    def path(self, location: str) -> str:
        """A location below the root as a path of the file system."""
        return f"{self.storage.path()}/{location}" if location else self.storage.path()


def all_rows(catalog: ManifestCatalog) -> list[Entry]:
    """Every row of the manifest, also those that others hide."""
    with catalog.manifest.reading() as reader:
        if reader.dataset is None:
            return []
        rows = whole("", reader.dataset.to_table())
    return [rows.entry(row) for row in range(rows.rows.num_rows)]


def _rows(look: Look) -> Iterator[Finding]:
    """What the rows say of each other."""
    counted = Counter(entry.object_id for entry in look.entries)
    for object_id, count in counted.items():
        if count > 1:
            yield _about(object_id, DUPLICATE_ROW, f"{count} rows; the last one counts")
    types = {entry.object_id: entry.object_type for entry in look.entries}
    for object_id, object_type in types.items():
        parent = parent_of(object_id)
        if object_type == TABLE_VERSION and types.get(parent) != TABLE:
            yield _about(object_id, NO_TABLE, "the table is gone")
        elif object_type != TABLE_VERSION and parent and types.get(parent) != NAMESPACE:
            taken = f", which is a {types[parent]}" if parent in types else ""
            yield _about(object_id, NO_NAMESPACE, f"it is in {_shown(parent)!r}{taken}")
    for entry in look.entries:
        gone = [base for base in entry.base_objects or () if base not in types and not _is_v1(look, base)]
        if gone:
            yield _about(entry.object_id, NO_SOURCE, f"it is made from {', '.join(map(_shown, gone))}")


def _tables(look: Look) -> Iterator[Finding]:
    """What storage says of the rows."""
    for entry in {entry.object_id: entry for entry in look.entries if entry.object_type == TABLE}.values():
        location = entry.location or ""
        inside = look.contents(location) if location.partition("/")[0] in look.names else set()
        if not inside:
            yield _about(entry.object_id, MISSING_LOCATION, f"nothing is at {location!r}")
        else:
            yield from _table(look, location, inside, partial(_about, entry.object_id))


def _table(look: Look, location: str, inside: set[str], about: Callable[[str, str], Finding]) -> Iterator[Finding]:
    """What is wrong at the location of a table."""
    if inside <= RESERVATION and look.is_old(location):
        yield about(STALE_RESERVATION, f"{location!r} was reserved and never written")
        return
    if _is_unreadable(look, location, inside):
        gone = f"no version is left in '_versions' at {location!r}, so nobody can read the files there"
        yield about(NO_VERSION, f"{gone}: put it back from a backup, or drop the table")
    if FOLDER in inside:
        yield from _abandoned(look, f"{location}/{FOLDER}")


def _is_unreadable(look: Look, location: str, inside: set[str]) -> bool:
    """Whether there are files and no version; one that may be at work on the first version is spared."""
    if inside <= RESERVATION or _has_version(look, location, inside):
        return False
    return not inside <= _FIRST_WRITE or look.is_old(location)


def _has_version(look: Look, location: str, inside: set[str]) -> bool:
    """Whether there is a version; an object store has no empty directories, so there it takes no second look."""
    if "_versions" not in inside or not look.storage.is_local:
        return "_versions" in inside
    return any(".manifest" in name for name in look.contents(f"{location}/_versions"))  # Hints may lie beside them.


def _directory(look: Look) -> Iterator[Finding]:
    """What is in the root and belongs to nothing."""
    named = {(entry.location or "").partition("/")[0] for entry in look.entries}
    for name in sorted(look.names - named):
        if name.startswith(DIRECTORY) or name == JOBS:
            continue
        if name.startswith(STAGED_PREFIX):
            if look.is_old(name):
                yield Finding(LEFTOVER, name, "a writer died before it was put in its place")
            continue
        yield from _unnamed(look, name)


def _unnamed(look: Look, name: str) -> Iterator[Finding]:
    inside = look.contents(name)
    shown = name.endswith(TABLE_SUFFIX) and look.listing.exists(name.removesuffix(TABLE_SUFFIX))
    is_table = _has_version(look, name, inside)
    if shown and look.shows_v1:
        yield from _table(look, name, inside, lambda kind, detail: Finding(kind, name, detail))
    elif is_table and DEREGISTERED not in inside:
        yield Finding(ORPHAN_TABLE, name, "a whole table that the catalog does not name: register it, or delete it")
    elif not is_table and inside and _OURS.fullmatch(name) and look.is_old(name):
        yield Finding(ORPHAN_DIRECTORY, name, "what is left of a table, without a version that could be read")


def _jobs(look: Look) -> Iterator[Finding]:
    """Results of tasks that are too old to be taken up again."""
    folder = f"{JOBS}/checkpoints"
    names = look.contents(folder) if JOBS in look.names else set()
    oldest = datetime.now(timezone.utc) - timedelta(days=CHECKPOINT_DAYS)
    for name in sorted(names):
        files = look.storage.filesystem.find(look.path(f"{folder}/{name}"))
        if all(_aware(look.storage.filesystem.modified(file)) < oldest for file in files):
            yield Finding(LEFTOVER, f"{folder}/{name}", f"results of a job, older than {CHECKPOINT_DAYS} days")


def _abandoned(look: Look, folder: str) -> Iterator[Finding]:
    for name in sorted(look.contents(folder)):
        if look.is_old(f"{folder}/{name}"):
            yield Finding(LEFTOVER, f"{folder}/{name}", "files of a job that was never finished")


def _is_v1(look: Look, object_id: str) -> bool:
    return look.shows_v1 and "$" not in object_id and look.listing.exists(object_id)


def _about(object_id: str, kind: str, detail: str) -> Finding:
    return Finding(kind, _shown(object_id), detail, object_id)


def _shown(object_id: str) -> str:
    return object_id.replace(identifiers.DELIMITER, ".")


def _aware(time: datetime) -> datetime:
    """Some file systems leave the zone out, and mean UTC."""
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)

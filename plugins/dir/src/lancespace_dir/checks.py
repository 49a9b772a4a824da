"""What can be wrong in a directory catalog, found by looking at the manifest and the directory side by side.

Nothing here changes anything; :mod:`.repairs` does. Crashes of writers leave most of it, and none of it is in the way
of a reader.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from lance_namespace import UnsupportedOperationError

from lancespace.authoring import Steps, identifiers, is_staged, relative_steps, touch, translated
from lancespace_dir import recovery
from lancespace_dir.look import Look
from lancespace_dir.manifest.schema import DIRECTORY, NAMESPACE, TABLE, TABLE_VERSION, Entry, parent_of
from lancespace_dir.manifest_catalog import ManifestCatalog
from lancespace_dir.reservations import RESERVATION
from lancespace_dir.root import DEREGISTERED, JOBS, TABLE_SUFFIX, belongs_to_catalog, is_claim
from lancespace_jobs import CHECKPOINT_DAYS, FOLDER

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.authoring import Storage

ORPHAN_TABLE = "orphan table"
ORPHAN_DIRECTORY = "orphan directory"
HIDDEN_TABLE = "V1 table"
MISSING_LOCATION = "missing location"
DUPLICATE_ROW = "duplicate row"
NO_NAMESPACE = "no namespace"
NO_TABLE = "version without a table"
NO_SOURCE = "view without a source"
NO_VERSION = "table without a version"
STALE_RESERVATION = "stale reservation"
LEFTOVER = "leftover"
DAMAGED_MANIFEST = "damaged manifest"
SHARED = "shared location"

_FIRST_WRITE = RESERVATION | {"data", "_transactions", "_versions"}
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
    location: str = field(default="", repr=False)
    """Where the table is that it is about."""
    entry: Entry | None = field(default=None, repr=False)
    """The row of that table, if it has one."""


def check(namespace: Namespace, *, older_than: timedelta, now: datetime | None = None) -> Iterator[Finding]:
    """Everything that is wrong in a directory catalog.

    ``older_than`` spares rows, reservations and files of writers that may still be at work; ``now`` is the time by the
    clock of the store, and of this machine if it is left out.

    Raises:
        UnsupportedOperationError: If the namespace is no directory catalog, or leaves the manifest out that is there.
    """
    backend = namespace.backend
    if not hasattr(backend, "catalog") or not hasattr(backend, "storage"):
        raise UnsupportedOperationError(f"{namespace!r} is no directory catalog: there is nothing to check.")
    with translated("check the catalog"):
        if isinstance(backend.catalog, ManifestCatalog) and recovery.is_damaged(backend.storage):
            yield _damage(backend.storage)
            return
        look = Look(backend, older_than, now)
        yield from _rows(look)
        yield from _shared(look)
        yield from _tables(look)
        yield from _directory(look)
        yield from _jobs(look)


def _damage(storage: Storage) -> Finding:
    """That the manifest has no version, and what can be done about it."""
    copy = recovery.copy_for(storage)
    return Finding(
        DAMAGED_MANIFEST,
        DIRECTORY,
        f"no version is left in '{DIRECTORY}/_versions': restore '{DIRECTORY}' from a backup if there is one. "
        f"A repair copies its files and a report to {copy!r}, and enters the newest row of every name whose table is "
        "in storage. It cannot prove which names were deregistered or which namespaces dropped: these may be back. End "
        "other clients first: one that is connected to an object store may not have noticed, and goes on as before.",
    )


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


def _shared(look: Look) -> Iterator[Finding]:
    """Tables whose location is that of another, or lies inside it; sorted, they follow each other."""
    tables = {entry.object_id: entry for entry in look.entries if entry.object_type == TABLE}.values()
    above: tuple[Steps, str] = (("",), "")
    for steps, object_id in sorted((relative_steps(entry.location or ""), entry.object_id) for entry in tables):
        if touch(above[0], steps):
            told = "a drop of either keeps the files; drop one, or register it at a copy of its files"
            where = f"its location {'/'.join(steps)!r} is that of {_shown(above[1])!r}, or lies inside it"
            yield _about(object_id, SHARED, f"{where}: {told}")
        else:
            above = steps, object_id


def _tables(look: Look) -> Iterator[Finding]:
    """What storage says of the rows."""
    missing = []
    for entry in {entry.object_id: entry for entry in look.entries if entry.object_type == TABLE}.values():
        location = entry.location or ""
        inside = look.contents(location)
        if inside:
            yield from _table(look, location, inside, partial(_about, entry.object_id, location=location, entry=entry))
        else:
            missing.append(entry)
    old = look.old_rows(missing)  # A younger one may be that of a table that is being created.
    for entry in (entry for entry in missing if entry in old):
        where = entry.location or ""
        yield _about(entry.object_id, MISSING_LOCATION, f"nothing is at {where!r}", location=where, entry=entry)


def _table(look: Look, location: str, inside: set[str], about: Callable[..., Finding]) -> Iterator[Finding]:
    """What is wrong at the location of a table."""
    if inside <= RESERVATION and look.is_old(location):
        yield about(STALE_RESERVATION, detail=f"{location!r} was reserved and never written")
        return
    if _is_unreadable(look, location, inside):
        gone = f"no version is left in '_versions' at {location!r}, so nobody can read the files there"
        yield about(NO_VERSION, detail=f"{gone}: put it back from a backup, or drop the table")
    for name in inside:
        if is_claim(name) and look.is_old(f"{location}/{name}"):
            yield Finding(LEFTOVER, f"{location}/{name}", "a drop or a repair of the table was interrupted")
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
        if belongs_to_catalog(name):
            continue
        if is_staged(name):
            if look.is_old(name):
                yield Finding(LEFTOVER, name, "a writer died before it was put in its place")
            continue
        yield from _unnamed(look, name)


def _unnamed(look: Look, name: str) -> Iterator[Finding]:
    inside = look.contents(name)
    shown = name.endswith(TABLE_SUFFIX) and look.listing.exists(name.removesuffix(TABLE_SUFFIX))
    is_table = _has_version(look, name, inside)
    if shown and look.shows_v1:
        yield from _table(look, name, inside, partial(Finding, subject=name, location=name))
    elif shown and is_table:
        told = "connect with dir_listing_enabled=true, or enter it with 'lancespace migrate'"
        yield Finding(HIDDEN_TABLE, name, f"a V1 table, which this connection does not show: {told}")
    elif is_table and DEREGISTERED not in inside:
        yield Finding(ORPHAN_TABLE, name, "a whole table that the catalog does not name: register it, or delete it")
    elif not is_table and inside and _OURS.fullmatch(name) and look.is_old(name):
        yield Finding(ORPHAN_DIRECTORY, name, "what is left of a table, without a version that could be read")


def _jobs(look: Look) -> Iterator[Finding]:
    """Results of tasks that are too old to be taken up again."""
    folder = f"{JOBS}/checkpoints"
    names = look.contents(folder) if JOBS in look.names else set()
    for name in sorted(names):
        if look.is_older(f"{folder}/{name}", CHECKPOINT_DAYS):
            yield Finding(LEFTOVER, f"{folder}/{name}", f"results of a job, older than {CHECKPOINT_DAYS} days")


def _abandoned(look: Look, folder: str) -> Iterator[Finding]:
    for name in sorted(look.contents(folder)):
        if look.is_old(f"{folder}/{name}"):
            yield Finding(LEFTOVER, f"{folder}/{name}", "files of a job that was never finished")


def _is_v1(look: Look, object_id: str) -> bool:
    return look.shows_v1 and "$" not in object_id and look.listing.exists(object_id)


def _about(object_id: str, kind: str, detail: str, location: str = "", entry: Entry | None = None) -> Finding:
    return Finding(kind, _shown(object_id), detail, object_id, location, entry)


def _shown(object_id: str) -> str:
    return object_id.replace(identifiers.DELIMITER, ".")

"""drop_table and the deletes of drop_namespace: the row goes first, then the files that were seen before."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError, InvalidInputError, TableNotFoundError

from lancespace import identifiers
from lancespace.backends.messages import no_table
from lancespace.storage.locations import relative_steps
from lancespace_dir import changes, root
from lancespace_dir.catalogs import Names, Place

if TYPE_CHECKING:
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.seen import SeenTable
    from lancespace_dir.v2 import ManifestCatalog

_log = logging.getLogger(__name__)


def drop(catalog: ManifestCatalog, names: Names) -> Place:
    """Take the row out and delete the files, unless another table has them, too.

    A table that is only a directory (V1) gets a row before, so that nobody else can register or rename it meanwhile;
    one that is deregistered can be dropped too.
    """
    own = root.root_location(names[0])
    with catalog.manifest.one_look(), _seen(catalog, own, if_needed=len(names) == 1) as seen:
        try:
            place, has_row = catalog.find_row(names)
        except TableNotFoundError:
            place, has_row = catalog.deregistered_v1(names), False
        if not catalog.is_own(names, place):
            taken = _take_out(catalog, names, place, None)
            delete_files(catalog, taken)
            return place
        is_decisive = not has_row or _shows_itself(catalog, own, seen)
        if not has_row:
            if seen is None:  # Another caller made it since.
                raise no_table(names)
            other = next((entry.object_id for entry in catalog.tables_at(own) if entry.object_id != names[0]), None)
            if other is not None and _stays(catalog, place, changes.Taken([place], {own: other})):
                catalog.listing.hide(own)
                return place
            _claim(catalog, names, place)
        taken = _take_out(catalog, names, place, seen)
        if _stays(catalog, place, taken):
            catalog.listing.hide(own)
            return place
        try:
            if seen is not None:
                seen.remove()
        except FileNotFoundError as error:
            if is_decisive:  # Only who removes a directory that shows the table by itself has dropped the table.
                raise no_table(names) from error
        return place


def delete_files(catalog: ManifestCatalog, taken: changes.Taken) -> None:
    """Delete the files of tables whose rows were taken out."""
    for place in taken.places:
        if not _stays(catalog, place, taken):
            catalog.listing.delete(place.location)


def _take_out(catalog: ManifestCatalog, names: Names, place: Place, seen: SeenTable | None) -> changes.Taken:
    """Take the row out, unless the table is another one by now: the commit decides."""

    def take_out(draft: Draft) -> changes.Taken:
        now = changes.need_table(draft, names)
        if now.location != place.location or (seen is not None and not seen.is_current()):
            raise no_table(names)
        return changes.take_out_with_files(draft, names)

    return catalog.manifest.mutate(take_out)


def _claim(catalog: ManifestCatalog, names: Names, place: Place) -> None:
    """Give a V1 table a row that is to be taken out at once.

    Raises:
        ConcurrentModificationError: Another caller gave it one, or created another table of this name.
    """
    catalog.need_unused(names)
    if not catalog.enter_v1(names, place):
        raise ConcurrentModificationError(
            f"The table {identifiers.show(names)!r} was changed by another caller at the same time: try again."
        )


def _shows_itself(catalog: ManifestCatalog, location: str, seen: SeenTable | None) -> bool:
    listing = catalog.listing
    return seen is not None and listing.has_directories and listing.shows(location, seen.contents)


@contextmanager
def _seen(catalog: ManifestCatalog, location: str, *, if_needed: bool = True) -> Iterator[SeenTable | None]:
    """The directory as it is now, or None if there is none or it is empty."""
    try:
        seen = catalog.listing.see(location) if if_needed else None
    except FileNotFoundError:
        seen = None
    try:
        yield seen if seen is not None and seen.contents else None
    finally:
        if seen is not None:
            seen.close()


def _stays(catalog: ManifestCatalog, place: Place, taken: changes.Taken) -> bool:
    """Whether the files of a table that was dropped stay, since they may be those of another, too."""
    other = taken.sharers.get(place.location)
    if other is not None:
        _log.warning("Dropped a table and kept its files at %r: the table %r is there, too", place.location, other)
        return True
    try:
        root.relative("/".join(relative_steps(place.location)), catalog.listing.location)
    except InvalidInputError as error:
        _log.warning("Dropped a table and kept its files: %s", error)
        return True
    return False

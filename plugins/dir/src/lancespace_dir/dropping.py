"""drop_table and the deletes of drop_namespace: the row goes first, then the files that were seen before."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError, InvalidInputError, TableNotFoundError

from lancespace.authoring import identifiers, no_table, relative_steps
from lancespace_dir import mutations, root
from lancespace_dir.catalogs import CatalogEntry, Names

if TYPE_CHECKING:
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.manifest_catalog import ManifestCatalog
    from lancespace_dir.seen import SeenTable

_log = logging.getLogger(__name__)


def drop(catalog: ManifestCatalog, names: Names) -> CatalogEntry:
    """Take the row out and delete the files, unless another table has them, too.

    A table that is only a directory (V1) gets a row before, so that nobody else can register or rename it meanwhile;
    one that is deregistered can be dropped too.
    """
    own = root.root_location(names[0])
    with _seen(catalog, own, if_needed=len(names) == 1 and root.can_be_shown(names[0])) as seen:
        with catalog.manifest.single_refresh():
            found = _take_from_catalog(catalog, names, seen)
        if found is None:
            return _drop_deregistered(catalog, names, seen)
        place, taken, is_decisive = found
        if not catalog.is_own(names, place):
            delete_files(catalog, taken)
        elif not catalog.listing.is_link(own) and _stays(catalog, own, taken.sharers.get(own)):
            catalog.listing.hide(own)
        elif seen is not None:
            _remove(catalog, names, seen, is_decisive=is_decisive)
        return place


def delete_files(catalog: ManifestCatalog, taken: mutations.Taken) -> None:
    """Delete the files of tables whose rows were taken out."""
    locations = [place.location for place in taken.places]
    own = [location for location in locations if not _stays(catalog, location, taken.sharers.get(location))]
    catalog.listing.delete(own, lambda claimed: _kept(catalog, claimed))


def _kept(catalog: ManifestCatalog, locations: Iterable[str]) -> set[str]:
    """The locations that tables were registered at meanwhile."""
    sharers = {location: entry.object_id for location, entry in catalog.tables_at_any(locations)}
    return {location for location, other in sharers.items() if _stays(catalog, location, other)}


def _remove(catalog: ManifestCatalog, names: Names, seen: SeenTable, *, is_decisive: bool) -> None:
    """Delete the directory of a table of the root.

    Raises:
        TableNotFoundError: The directory shows the table by itself, and another caller has removed it: only that one
            has dropped the table.
    """
    own = root.root_location(names[0])
    try:
        if not seen.remove(lambda: bool(_kept(catalog, [own]))) and catalog.manifest.get(names[0]) is None:
            catalog.listing.hide(own)
    except FileNotFoundError as error:
        if is_decisive:
            raise no_table(names) from error


def _drop_deregistered(catalog: ManifestCatalog, names: Names, seen: SeenTable | None) -> CatalogEntry:
    """Delete a directory that is hidden. One that is claimed is what another drop, under way or dead, has left."""
    place = catalog.deregistered_v1(names)
    catalog.need_unused(names)
    if seen is None:
        raise no_table(names)
    is_claimed = any(map(root.is_claim, seen.contents))
    try:
        is_removed = seen.remove(lambda: bool(catalog.tables_at(place.location)))
    except FileNotFoundError as error:
        raise no_table(names) from error
    if is_claimed or not is_removed:
        raise no_table(names)
    return place


def _take_from_catalog(
    catalog: ManifestCatalog, names: Names, seen: SeenTable | None
) -> tuple[CatalogEntry, mutations.Taken, bool] | None:
    """Take the row out; what it was, and whether only the caller who deletes the directory has dropped the table.

    None if there is no such table.
    """
    try:
        place, has_row = catalog.find_row(names, mutations.place_to_drop)
    except TableNotFoundError:
        return None
    is_own = catalog.is_own(names, place)
    is_decisive = is_own and (not has_row or _shows_itself(catalog, place.location, seen))
    take_out = _take_out if has_row else _take_v1_out
    return place, take_out(catalog, names, place, seen if is_own else None), is_decisive


def _take_out(catalog: ManifestCatalog, names: Names, place: CatalogEntry, seen: SeenTable | None) -> mutations.Taken:
    """Take the row out, unless the table is another one by now: the commit decides."""

    def take_out(draft: Draft) -> mutations.Taken:
        now = mutations.need_table(draft, names)
        if now.location != place.location or (seen is not None and not seen.is_current()):
            raise no_table(names)
        return mutations.take_out_with_files(draft, names)

    return catalog.manifest.mutate(take_out)


def _take_v1_out(
    catalog: ManifestCatalog, names: Names, place: CatalogEntry, seen: SeenTable | None
) -> mutations.Taken:
    """Give a V1 table a row, and take it out; nobody else can register or rename it meanwhile.

    Raises:
        ConcurrentModificationError: Another caller gave it one, or created another table of this name.
    """
    if seen is None:  # Another caller made it since.
        raise no_table(names)
    other = next((entry.object_id for entry in catalog.tables_at(place.location) if entry.object_id != names[0]), None)
    if other is not None:
        return mutations.Taken([place], {place.location: other})
    catalog.need_unused(names)
    if not catalog.enter_v1(names, place):
        raise ConcurrentModificationError(
            f"The table {identifiers.show(names)!r} was changed by another caller at the same time: try again."
        )
    return _take_out(catalog, names, place, seen)


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


def _stays(catalog: ManifestCatalog, location: str, other: str | None) -> bool:
    """Whether the files of a table that was dropped stay, since they may be those of another, too."""
    if other is not None:
        _log.warning("Dropped a table and kept its files at %r: the table %r is there, too", location, other)
        return True
    try:
        root.relative("/".join(relative_steps(location)), catalog.listing.location)
    except InvalidInputError as error:
        _log.warning("Dropped a table and kept its files: %s", error)
        return True
    return False

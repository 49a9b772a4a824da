"""V1: a catalog of one level that is read off the directory itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, TableAlreadyExistsError, UnsupportedOperationError

from lancespace.authoring import identifiers, location_taken, namespace_exists, no_namespace, no_table, table_exists
from lancespace_dir import reservations, root
from lancespace_dir.catalogs import CatalogEntry, Names
from lancespace_dir.listing import Listing
from lancespace_dir.manifest.committer import ManifestTable
from lancespace_tables import View

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.schema import Entry

_log = logging.getLogger(__name__)

_NO_PLACE = frozenset({"create_namespace", "drop_namespace", "create_materialized_view", "refresh_materialized_view"})


class ListingCatalog:
    """Tables of the root namespace only; there is nowhere to keep namespaces or properties."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._listing = listing = Listing(storage)
        self._root = storage.location
        self._manifest = ManifestTable(storage, commit_retries=0, with_upkeep=False)
        """That of a catalog which others use with a manifest; it is asked before a name is taken or a table deleted."""
        self.lacks = _NO_PLACE if listing.has_directories else _NO_PLACE | {"rename_table"}

    def create_namespace(self, names: Names, properties: Mapping[str, str], mode: str) -> Mapping[str, str]:
        """Refused: V1 has one level."""
        del properties, mode
        if not names:
            raise namespace_exists([])
        raise UnsupportedOperationError(
            f"Cannot create the namespace {identifiers.show(names)!r}: a V1 catalog has one level. "
            "Connect with manifest_enabled=true."
        )

    def drop_namespace(self, names: Names, *, cascade: bool) -> Mapping[str, str]:
        """There is none to drop."""
        del cascade
        raise no_namespace(names)

    def namespace_properties(self, names: Names) -> Mapping[str, str]:
        """The root has none."""
        self._only_root(names)
        return {}

    def namespaces(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """None."""
        del after, count
        self._only_root(names)
        return []

    def tables(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """The table directories of the root."""
        self._only_root(names)
        return list(islice(self._listing.names(after), count))

    def all_tables(self, after: str | None, count: int | None) -> list[str]:
        """The same: there is one level."""
        return self.tables([], after, count)

    def find(self, names: Names) -> CatalogEntry:
        """The table's directory."""
        if len(names) > 1:
            raise no_namespace(names[:-1], table=names)
        if not self._listing.exists(names[0]):
            raise no_table(names)
        return CatalogEntry(root.root_location(names[0]))

    def declare(
        self, names: Names, location: str | None, properties: Mapping[str, str], *, with_data: bool = False
    ) -> CatalogEntry:
        """Reserve the table's directory."""
        del with_data
        self._no_properties(properties)
        name, place = self._own(names, location)
        if self._listing.is_hidden(place.location):
            raise table_exists_deregistered(name)
        if self._listing.is_occupied(place.location):
            raise table_exists(names)
        try:
            self._listing.reserve(place.location)
        except (FileExistsError, FileNotFoundError) as error:  # It is there, or is just being dropped.
            raise table_exists(names) from error
        with _undone_on_failure(lambda: reservations.delete_marks(self._storage, place.location)):
            self._need_free(name)
        return place

    def register(self, names: Names, location: str, properties: Mapping[str, str], *, overwrite: bool) -> CatalogEntry:
        """Show a deregistered table again."""
        self._no_properties(properties)
        name, place = self._own(names, location)
        if self._listing.exists(name) and not overwrite:
            raise table_exists(names)
        holder = self._holder(name)
        if holder is not None:
            raise location_taken(place.location, identifiers.split(holder.object_id))
        self._listing.show(place.location)
        with _undone_on_failure(lambda: self._listing.hide(place.location)):
            self._need_free(name)
        return place

    def replace_properties(
        self, names: Names, properties: Mapping[str, str], check: Callable[[CatalogEntry], None]
    ) -> None:
        """There are none to keep."""
        del names, check
        self._no_properties(properties)

    def check_overwrite(self, names: Names) -> None:
        """Every table has a directory of its own."""

    def deregister(self, names: Names) -> CatalogEntry:
        """Mark the table's directory."""
        place = self.find(names)
        if not self._listing.hide(place.location):
            raise no_table(names)  # Somebody else was faster.
        return place

    def rename(self, names: Names, target: Names) -> None:
        """Move the directory, which only a local file system can do in one step."""
        source, name = self.find(names), self._name(target)
        location = root.root_location(name)
        if self._listing.is_occupied(location):
            raise table_exists(target)
        try:
            self._listing.move(source.location, location)
        except FileNotFoundError as error:
            raise no_table(names) from error
        except FileExistsError as error:
            raise table_exists(target) from error
        with _undone_on_failure(lambda: self._listing.move(location, source.location)):
            self._need_free(name)

    def drop(self, names: Names) -> CatalogEntry:
        """Take the directory out of sight, then delete it; one that is deregistered can be dropped too.

        One that holds a table of the manifest is only taken out of sight.
        """
        name = self._name(names)
        location = root.root_location(name)
        try:
            with closing(self._listing.see(location)) as seen:
                if all(map(root.is_claim, seen.contents)):
                    raise no_table(names)
                if not seen.remove(lambda: self._holder(name) is not None):
                    if not self._listing.hide(location):
                        raise no_table(names)
                    _log.warning("Dropped a table and kept its files at %r: a table of the manifest is there", location)
        except FileNotFoundError as error:
            raise no_table(names) from error
        return CatalogEntry(location)

    def views(self) -> list[View]:
        """None: there is nowhere to keep what they are made from."""
        return []

    def close(self) -> None:
        """End what reads the manifest."""
        self._manifest.close()

    def _need_free(self, name: str) -> None:
        """Refuse a name that something has in the manifest, or whose directory a table has there.

        It is asked when the directory is there. Who creates a namespace enters it, and then looks for the directory.
        """
        location = root.root_location(name)
        with self._manifest.reading() as reader:
            entry = reader.get(name) or next((entry for _, entry in reader.tables_at(location)), None)
        if entry is not None:
            raise TableAlreadyExistsError(
                f"The name {name!r} or its directory {location!r} is that of a {entry.object_type} in the catalog's "
                f"manifest, {identifiers.show(identifiers.split(entry.object_id))!r}: choose another name."
            )

    def _holder(self, name: str) -> Entry | None:
        """The table of the manifest that has a name's directory, or one around or inside it.

        Of one that is in sight, not that of this name; one that is hidden may have been renamed.
        """
        location = root.root_location(name)
        is_hidden = self._listing.is_hidden(location)
        with self._manifest.reading() as reader:
            entries = (entry for _, entry in reader.tables_at(location))
            return next((entry for entry in entries if is_hidden or entry.object_id != name), None)

    def _only_root(self, names: Names) -> None:
        if names:
            raise no_namespace(names)

    def _own(self, names: Names, location: str | None) -> tuple[str, CatalogEntry]:
        """The name of a new table and its directory, the only one that it can have."""
        name = self._name(names)
        own = root.root_location(name)
        if location is not None and root.relative(location, self._root) != own:
            raise InvalidInputError(f"In a V1 catalog the table {name!r} can only be at {own!r}, not at {location!r}.")
        return name, CatalogEntry(own)

    def _name(self, names: Names) -> str:
        self._only_root(names[:-1])
        return names[-1]

    def _no_properties(self, properties: Mapping[str, str]) -> None:
        if properties:
            raise InvalidInputError("A V1 catalog cannot keep table properties. Connect with manifest_enabled=true.")


def table_exists_deregistered(name: str) -> Exception:
    """The error for a name whose directory holds a deregistered table."""
    error = table_exists([name])
    return type(error)(
        f"The name {name!r} is held by a deregistered table at {root.root_location(name)!r}: "
        "register it again, or drop it first."
    )


@contextmanager
def _undone_on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Undo what was done before if what follows fails."""
    try:
        yield
    except BaseException:
        undo()
        raise

"""What a directory catalog knows, whichever way it keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lance_namespace import (
    InvalidInputError,
)

if TYPE_CHECKING:
    from lancespace.properties import Settings
    from lancespace.storage import Storage
    from lancespace.views.marks import View

Names = list[str]


@dataclass(frozen=True)
class Place:
    """Where a table is, and what the catalog knows of it."""

    location: str
    """Relative to the root."""
    properties: Mapping[str, str] | None = None
    """None where the catalog cannot keep any."""
    is_managed: bool = False
    """Whether the catalog keeps the table's versions, too."""
    is_new: bool = False
    """Whether the location was made up for this table, so that no other can have it."""


class Catalog(Protocol):
    """The names of a directory. Identifiers come validated; what is missing or taken is one of the spec's errors."""

    @property
    def lacks(self) -> frozenset[str]:
        """Operations that it has no place for."""

    def create_namespace(self, names: Names, properties: Mapping[str, str], mode: str) -> Mapping[str, str]:
        """Enter a namespace and answer its properties."""

    def drop_namespace(self, names: Names, *, cascade: bool) -> Mapping[str, str]:
        """Take a namespace out, with all that is in it if asked to, in one step."""

    def namespace_properties(self, names: Names) -> Mapping[str, str]:
        """The properties of a namespace."""

    def namespaces(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """So many names of child namespaces after a name, sorted."""

    def tables(self, names: Names, after: str | None, count: int | None) -> list[str]:
        """So many names of tables in a namespace after a name, sorted."""

    def all_tables(self, after: str | None, count: int | None) -> list[str]:
        """So many joined identifiers of tables after an identifier, sorted."""

    def find(self, names: Names) -> Place:
        """Where a table is."""

    def declare(
        self, names: Names, location: str | None, properties: Mapping[str, str], *, with_data: bool = False
    ) -> Place:
        """Enter a table name; of one whose data follows at once, only who could come upon it has to be told."""

    def register(self, names: Names, location: str, properties: Mapping[str, str], *, overwrite: bool) -> Place:
        """Enter a name for a table that is in storage."""

    def replace_properties(self, names: Names, properties: Mapping[str, str], check: Callable[[Place], None]) -> None:
        """Set the properties of a table, unless ``check`` refuses what it is by then."""

    def check_overwrite(self, names: Names) -> None:
        """Refuse to overwrite a table whose files are also those of another."""

    def deregister(self, names: Names) -> Place:
        """Take a table name out and leave the data."""

    def rename(self, names: Names, target: Names) -> None:
        """Give a table another name; its data stays where it is."""

    def drop(self, names: Names) -> Place:
        """Take a table name out and delete the data."""

    def views(self) -> list[View]:
        """All materialized views."""

    def close(self) -> None:
        """Finish what is under way."""


def choose_catalog(settings: Settings, storage: Storage) -> Catalog:
    """The catalog that the properties ask for: V1, V2, or both."""
    from lancespace_dir.v1 import ListingCatalog
    from lancespace_dir.v2 import ManifestCatalog
    from lancespace_dir.versionrows import MANAGEMENT

    if settings["manifest_enabled"]:
        return ManifestCatalog(
            storage,
            commit_retries=settings["commit_retries"],
            with_upkeep=settings["inline_optimization_enabled"],
            with_v1=settings["dir_listing_enabled"],
            managing=settings[MANAGEMENT],
        )
    if settings[MANAGEMENT]:
        raise InvalidInputError(f"A V1 catalog cannot keep table versions: {MANAGEMENT} needs manifest_enabled=true.")
    if settings["dir_listing_enabled"]:
        return ListingCatalog(storage)
    raise InvalidInputError(
        "One of manifest_enabled and dir_listing_enabled must be true, or the catalog could hold nothing."
    )

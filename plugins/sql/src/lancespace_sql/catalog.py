"""The namespace as DataFusion sees it: catalogs and schemas whose tables are looked up when a statement names them.

The default catalog and schema are called ``""``, which no namespace can be: so the parts of every name, taken
together, are the identifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from datafusion.catalog import CatalogProvider, CatalogProviderList, SchemaProvider
from lance_namespace import NamespaceNotFoundError, TableNotFoundError

from lancespace import identifiers
from lancespace_sql.tables import scannable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace import Namespace
    from lancespace_sql.notes import Notes


class NamespaceCatalogs(CatalogProviderList):
    """All catalogs of a session, and the tables and views that the session itself has made."""

    def __init__(self, namespace: Namespace, notes: Notes | None) -> None:
        self.namespace = namespace
        self.notes = notes
        self.local: dict[tuple[str, ...], Any] = {}

    def catalog_names(self) -> set[str]:
        """Only the default one: the others are a second way to the same namespaces."""
        return {""}

    def catalog(self, name: str) -> CatalogProvider:
        """The first of three parts: an outer namespace."""
        return NamespaceCatalog(self, name)


class NamespaceCatalog(CatalogProvider):
    """The namespaces below one."""

    def __init__(self, catalogs: NamespaceCatalogs, path: str) -> None:
        self._catalogs = catalogs
        self._path = path

    def schema_names(self) -> set[str]:
        """All namespaces below, dotted; ``""`` is the one itself."""
        return {".".join(names) for names in self._walk([])}

    def schema(self, name: str) -> Any:
        """A namespace; whether it is there shows when a table is asked for."""
        return NamespaceSchema(self._catalogs, self._path, name)

    def _walk(self, names: list[str]) -> Iterator[list[str]]:
        yield names
        for child in self._catalogs.namespace.namespaces([*identifiers.parse(self._path), *names]):
            yield from self._walk([*names, child])


class NamespaceSchema(SchemaProvider):
    """The tables of one namespace, and those that the session has made there."""

    def __init__(self, catalogs: NamespaceCatalogs, *path: str) -> None:
        self._catalogs = catalogs
        self._path = path

    def table_names(self) -> set[str]:
        """The names of the tables, the session's own too."""
        names = self._names()
        own = {table for *parent, table in self._catalogs.local if parent == names}
        return own | set(self._catalogs.namespace.tables(names))

    def table_exist(self, name: str) -> bool:
        """Whether there is such a table."""
        names = self._names(name)
        return tuple(names) in self._catalogs.local or self._catalogs.namespace.table(names).exists()

    def table(self, name: str) -> Any:
        """The table, opened; None if it is not there, since ``CREATE VIEW`` asks for what it is about to make."""
        names = self._names(name)
        if tuple(names) in self._catalogs.local:
            return self._catalogs.local[tuple(names)]
        try:
            return scannable(self._catalogs.namespace, names)
        except (TableNotFoundError, NamespaceNotFoundError) as error:
            if self._catalogs.notes is not None:
                self._catalogs.notes.missing[".".join((*self._path, name))] = (names, error)
            return None

    def register_table(self, name: str, table: Any) -> None:
        """Keep a table or view for the session; nothing goes into the catalog."""
        self._catalogs.local[tuple(self._names(name))] = table

    def deregister_table(self, name: str, cascade: bool = False) -> None:  # noqa: ARG002 - DataFusion's signature
        """Forget a table of the session; for one of the catalog, DataFusion answers the KeyError by refusing."""
        del self._catalogs.local[tuple(self._names(name))]

    def _names(self, *table: str) -> list[str]:
        parents = [name for part in self._path for name in identifiers.parse(part)]
        return identifiers.parse([*parents, *table])

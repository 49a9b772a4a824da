"""The namespace as DataFusion sees it: catalogs and schemas whose tables are looked up when a statement names them.

The default catalog and schema are called ``""``, which no namespace can be: so the parts of every name, taken
together, are the identifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from datafusion import SessionConfig, SessionContext
from datafusion.catalog import CatalogProvider, CatalogProviderList, SchemaProvider, Table
from lance_namespace import LanceNamespaceError, NamespaceNotFoundError, TableNotFoundError

from lancespace import Namespace
from lancespace.authoring import identifiers


@dataclass
class Notes:
    """Why the names of one statement could not be resolved, which DataFusion does not pass on whole."""

    missing: dict[str, tuple[list[str], LanceNamespaceError]] = field(default_factory=dict)
    """Tables that are not there: the identifier and the error, by the name that DataFusion's message gives."""
    raised: list[LanceNamespaceError] = field(default_factory=list)
    """What table functions raised; DataFusion makes a text of it."""


def context_over(
    open_table: Callable[[list[str]], Table], notes: Notes | None, namespace: Namespace | None = None
) -> SessionContext:
    """A DataFusion session whose tables are opened by a function, and listed by a namespace if there is one."""
    config = SessionConfig().with_create_default_catalog_and_schema(False).with_default_catalog_and_schema("", "")
    context = SessionContext(config)
    context.register_catalog_provider_list(_Catalogs(open_table, notes, namespace))
    return context


class _Catalogs(CatalogProviderList):
    """All catalogs of a session, and the tables and views that the session itself has made."""

    def __init__(
        self, open_table: Callable[[list[str]], Table], notes: Notes | None, namespace: Namespace | None
    ) -> None:
        self.open = open_table
        self.notes = notes
        self.namespace = namespace
        self.local: dict[tuple[str, ...], Any] = {}

    def catalog_names(self) -> set[str]:
        """Only the default one: the others are a second way to the same namespaces."""
        return {""}

    def catalog(self, name: str) -> CatalogProvider:
        """The first of three parts: an outer namespace."""
        return _Catalog(self, name)


class _Catalog(CatalogProvider):
    """The namespaces below one."""

    def __init__(self, catalogs: _Catalogs, path: str) -> None:
        self._catalogs = catalogs
        self._path = path

    def schema_names(self) -> set[str]:
        """All namespaces below, dotted; ``""`` is the one itself."""
        return {".".join(names) for names in self._walk([])}

    def schema(self, name: str) -> Any:
        """A namespace; whether it is there shows when a table is asked for."""
        return _Schema(self._catalogs, self._path, name)

    def _walk(self, names: list[str]) -> Iterator[list[str]]:
        yield names
        namespace = self._catalogs.namespace
        for child in namespace.namespaces([*identifiers.parse(self._path), *names]) if namespace is not None else ():
            yield from self._walk([*names, child])


class _Schema(SchemaProvider):
    """The tables of one namespace, and those that the session has made there."""

    def __init__(self, catalogs: _Catalogs, *path: str) -> None:
        self._catalogs = catalogs
        self._path = path

    def table_names(self) -> set[str]:
        """The names of the tables, the session's own too."""
        names = self._names()
        own = {table for *parent, table in self._catalogs.local if parent == names}
        return own if self._catalogs.namespace is None else own | set(self._catalogs.namespace.tables(names))

    def table_exist(self, name: str) -> bool:
        """Whether there is such a table."""
        names = self._names(name)
        if tuple(names) in self._catalogs.local or self._catalogs.namespace is None:
            return self.table(name) is not None
        return self._catalogs.namespace.table(names).exists()

    def table(self, name: str) -> Any:
        """The table, opened; None if it is not there, since ``CREATE VIEW`` asks for what it is about to make."""
        names = self._names(name)
        if tuple(names) in self._catalogs.local:
            return self._catalogs.local[tuple(names)]
        try:
            return self._catalogs.open(names)
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

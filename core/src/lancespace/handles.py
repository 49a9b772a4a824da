"""A table by its namespace's name and properties: what travels to another process, which opens it there."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import DescribeTableRequest, InvalidTableStateError, NamespaceNotFoundError, TableNotFoundError

from lancespace import identifiers
from lancespace.forks import process
from lancespace.namespace import connect
from lancespace.tables.access import TableAccess, TableRef

if TYPE_CHECKING:
    import lance

    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace
    from lancespace.storage import Storage

EXPIRY = "expires_at_millis"
"""What a namespace tells beside vended credentials: when to ask for others. No store has such an option."""


@dataclass(frozen=True)
class TableHandle:
    """Which table, in which namespace. Every process that uses it connects once, and gets credentials of its own."""

    backend: str
    properties: Mapping[str, str] = field(repr=False)
    id: tuple[str, ...]

    @classmethod
    def of(cls, namespace: Namespace, identifier: Identifier) -> TableHandle:
        """The handle of a table of a namespace."""
        return cls(*namespace.recipe(), tuple(identifiers.parse(identifier)))

    @property
    def name(self) -> str:
        """The identifier as a person writes it."""
        return identifiers.show(list(self.id))

    @property
    def namespace(self) -> Namespace:
        """The namespace, connected once in each process."""
        return connected(self.backend, self.properties)

    def settled(self) -> TableHandle:
        """The same for processes in other folders: a root that is relative is below the one that this process is in."""
        return TableHandle(*self.namespace.recipe(), self.id)

    def open(self, version: int | str | None = None, branch: str | None = None) -> lance.LanceDataset:
        """The dataset at a version or tag, by default the latest; its credentials are renewed while it is used."""
        return self.namespace.table(list(self.id)).dataset(version, branch)

    def latest(self) -> lance.LanceDataset | None:
        """The latest version, or None if the table is not there or has no data yet."""
        try:
            return self.open()
        except (TableNotFoundError, NamespaceNotFoundError, InvalidTableStateError):
            return None

    def place(self) -> TableRef:
        """Where the table is, and how pylance opens it and commits to it."""
        process.use_lance()
        request = DescribeTableRequest(id=list(self.id))
        if isinstance(self.namespace.backend, TableAccess):
            return self.namespace.backend.locate(request)
        described = self.namespace.describe_table(request)
        versions = self.namespace if described.managed_versioning else None
        return TableRef(self.id, described.location or "", described.storage_options or {}, versions)

    def renewing(self, place: TableRef) -> dict[str, Any]:
        """What pylance must be given to write files into a table, however long that takes."""
        options: dict[str, Any] = {"storage_options": dict(place.storage_options)}
        if isinstance(self.namespace.backend, TableAccess):
            return options
        return {**options, "namespace_client": self.namespace, "table_id": list(self.id)}

    def storage(self, place: TableRef) -> Storage:
        """The store that a table is in, for files that are not Lance's."""
        backend = self.namespace.backend
        if isinstance(backend, TableAccess):
            return backend.storage_for(place)
        options = {name: value for name, value in place.storage_options.items() if name != EXPIRY}
        storage: Storage = backend.connection.storage(place.location, options)
        return storage


def connected(backend: str, properties: Mapping[str, str]) -> Namespace:
    """The namespace of a recipe (:meth:`lancespace.Namespace.recipe`), connected once in each process."""
    return _connected(backend, tuple(sorted(properties.items())), Path.cwd())


@functools.cache
def _connected(backend: str, properties: tuple[tuple[str, str], ...], folder: Path) -> Namespace:
    """The folder one is in is part of the key, since a root may be relative to it."""
    del folder
    return connect(backend, dict(properties))

"""A table by its namespace's name and properties: what travels to another process, which opens it there."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import lance
from lance_namespace import DescribeTableRequest, InvalidTableStateError, NamespaceNotFoundError, TableNotFoundError

from lancespace import Namespace, connect
from lancespace.authoring import Identifier, Storage, identifiers, process
from lancespace_tables import TableAccess, TableLocation

EXPIRY = "expires_at_millis"
"""What a namespace tells beside vended credentials: when to ask for others. No store has such an option."""


@dataclass(frozen=True)
class TableSpec:
    """Which table, in which namespace.

    In the process that made it, it uses the namespace that it was made of. Pickled, it has the namespace's name and
    properties: another process connects once for all specs of one namespace, and gets credentials of its own.
    """

    backend: str
    properties: Mapping[str, str] = field(repr=False)
    id: tuple[str, ...]
    given: Namespace | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, namespace: Namespace, identifier: Identifier) -> TableSpec:
        """The spec of a table of a namespace."""
        return cls(*namespace.connection_args(), tuple(identifiers.parse(identifier)), namespace)

    def __getstate__(self) -> tuple[str, Mapping[str, str], tuple[str, ...]]:
        return self.backend, self.properties, self.id

    def __setstate__(self, state: tuple[str, Mapping[str, str], tuple[str, ...]]) -> None:
        for name, value in zip(("backend", "properties", "id", "given"), (*state, None), strict=True):
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """The identifier as a person writes it."""
        return identifiers.show(list(self.id))

    @property
    def namespace(self) -> Namespace:
        """The namespace; in another process, it is kept as long as the spec."""
        if self.given is None:
            object.__setattr__(self, "given", connected(self.backend, self.properties))
        return cast("Namespace", self.given)

    def absolute(self) -> TableSpec:
        """The same for processes in other folders: a relative root is below the folder of this process."""
        return TableSpec(*self.namespace.connection_args(), self.id, self.given)

    def open(self, version: int | str | None = None, branch: str | None = None) -> lance.LanceDataset:
        """The dataset at a version or tag, by default the latest; its credentials are renewed while it is used."""
        return self.namespace.table(list(self.id)).dataset(version, branch)

    def latest(self) -> lance.LanceDataset | None:
        """The latest version, or None if the table is not there or has no data yet."""
        try:
            return self.open()
        except (TableNotFoundError, NamespaceNotFoundError, InvalidTableStateError):
            return None

    def place(self) -> TableLocation:
        """Where the table is, and how pylance opens it and commits to it."""
        process.use_lance()
        request = DescribeTableRequest(id=list(self.id))
        if isinstance(self.namespace.backend, TableAccess):
            return self.namespace.backend.locate(request)
        described = self.namespace.describe_table(request)
        versions = self.namespace if described.managed_versioning else None
        return TableLocation(self.id, described.location or "", described.storage_options or {}, versions)

    def renewing(self, place: TableLocation) -> dict[str, Any]:
        """What pylance must be given to write files into a table, however long that takes."""
        options: dict[str, Any] = {"storage_options": dict(place.storage_options)}
        if isinstance(self.namespace.backend, TableAccess):
            return options
        return {**options, "namespace_client": self.namespace, "table_id": list(self.id)}

    def storage(self, place: TableLocation | None = None) -> Storage:
        """The store of the table's folder, for files that are not Lance's."""
        place = place or self.place()
        backend = self.namespace.backend
        if isinstance(backend, TableAccess):
            return backend.storage_for(place)
        options = {name: value for name, value in place.storage_options.items() if name != EXPIRY}
        storage: Storage = backend.connection.storage(place.location, options)
        return storage


def connected(backend: str, properties: Mapping[str, str]) -> Namespace:
    """The namespace of :meth:`lancespace.Namespace.connection_args`, for what was sent to this process.

    The latest few stay connected. Any other is closed when nothing uses it any more.
    """
    return _connected(backend, tuple(sorted(properties.items())), Path.cwd())


@functools.lru_cache(maxsize=4)
def _connected(backend: str, properties: tuple[tuple[str, str], ...], folder: Path) -> Namespace:
    """The working directory is part of the key, since a root may be relative to it."""
    del folder
    namespace = connect(backend, dict(properties))
    weakref.finalize(namespace, namespace.backend.connection.close).atexit = False
    return namespace

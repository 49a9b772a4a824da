"""The reference backend: a catalog in memory, its tables in a temporary directory.

It is the shortest full backend, the example in the docs, and what the conformance suite is tested against. Two
connections never share a catalog; closing one deletes its tables.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field

from lance_namespace import (
    CreateNamespaceRequest,
    CreateNamespaceResponse,
    DeclareTableRequest,
    DeclareTableResponse,
    DeregisterTableRequest,
    DeregisterTableResponse,
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    DropNamespaceRequest,
    DropNamespaceResponse,
    InvalidInputError,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    NamespaceNotFoundError,
)

from lancespace.backends.choices import CREATE_MODES, DROP_MODES, choose
from lancespace.backends.entries import TableEntry
from lancespace.backends.messages import namespace_exists, namespace_not_empty, no_namespace, no_table, table_exists
from lancespace.backends.tables import TableBackend
from lancespace.connection import Connection
from lancespace.hookspecs import hookimpl
from lancespace.storage.locations import location_taken
from lancespace.storage.store import overlap
from lancespace.tables.access import TableRef
from lancespace.tables.paging import paginate

Names = tuple[str, ...]


@dataclass
class _Namespace:
    properties: dict[str, str] = field(default_factory=dict)
    tables: dict[str, _Table] = field(default_factory=dict)
    children: dict[str, _Namespace] = field(default_factory=dict)


@dataclass
class _Table:
    location: str
    properties: dict[str, str]


class MemoryBackend(TableBackend):
    """A catalog that lives as long as its connection."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._root = _Namespace()
        self._lock = threading.Lock()
        self._directory: str | None = None

    @hookimpl
    def namespace_id(self) -> str:
        """Unique per connection: no two share anything."""
        return f"memory({id(self):x})"

    @hookimpl
    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """Enter a namespace below an existing one."""
        mode = choose("mode", request.mode, CREATE_MODES)
        names = tuple(request.id or ())
        with self._lock:
            if not names:
                raise namespace_exists([])
            parent = self._namespace(names[:-1])
            if names[-1] in parent.tables:
                raise namespace_exists(names, "table")
            existing = parent.children.get(names[-1])
            if existing is not None and mode == "Create":
                raise namespace_exists(names)
            if existing is not None and mode == "Overwrite":
                self._refuse_full(existing, names)
            if existing is None or mode == "Overwrite":
                existing = parent.children[names[-1]] = _Namespace(dict(request.properties or {}))
            return CreateNamespaceResponse(properties=dict(existing.properties))

    @hookimpl
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """The children's names."""
        with self._lock:
            children = sorted(self._namespace(tuple(request.id or ())).children)
        namespaces, token = paginate(children, request.page_token, request.limit)
        return ListNamespacesResponse(namespaces=namespaces, page_token=token)

    @hookimpl
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """The namespace's properties."""
        with self._lock:
            return DescribeNamespaceResponse(properties=dict(self._namespace(tuple(request.id or ())).properties))

    @hookimpl
    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """Take an empty namespace out."""
        names = tuple(request.id or ())
        if not names:
            raise InvalidInputError("The root namespace cannot be dropped.")
        with self._lock:
            try:
                dropped = self._namespace(names)
            except NamespaceNotFoundError:
                if choose("mode", request.mode, DROP_MODES) == "Skip":
                    return DropNamespaceResponse()
                raise
            self._refuse_full(dropped, names)
            del self._namespace(names[:-1]).children[names[-1]]
            return DropNamespaceResponse(properties=dropped.properties)

    @hookimpl
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Enter a table name."""
        names = tuple(request.id or ())
        with self._lock:
            parent = self._refuse_taken(names)
            if request.location is not None:
                self._refuse_shared(names, request.location)
            location = request.location or f"{self._tables_directory()}/{uuid.uuid4().hex}.lance"
            table = parent.tables[names[-1]] = _Table(location, dict(request.properties or {}))
            return DeclareTableResponse(location=table.location, properties=table.properties, storage_options={})

    @hookimpl
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """The names of the tables, leaving out those without data if asked to."""
        with self._lock:
            tables = dict(self._namespace(tuple(request.id or ())).tables)
        names = sorted(tables)
        if request.include_declared is False:
            names = [name for name in names if TableRef((name,), tables[name].location, {}).exists()]
        page, token = paginate(names, request.page_token, request.limit)
        return ListTablesResponse(tables=page, page_token=token)

    @hookimpl
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Where the table is."""
        with self._lock:
            table = self._table(tuple(request.id or ()))
            return DescribeTableResponse(location=table.location, storage_options={}, properties=dict(table.properties))

    @hookimpl
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Forget the name."""
        names = tuple(request.id or ())
        with self._lock:
            table = self._table(names)
            del self._namespace(names[:-1]).tables[names[-1]]
        return DeregisterTableResponse(id=list(names), location=table.location, properties=table.properties)

    def replace_entry(self, old: TableEntry, new: TableEntry) -> None:
        """Replace the entry of a table, under the lock."""
        with self._lock:
            table = self._table(old.id)
            old.check(table.location, table.properties)
            if new.id != old.id:
                self._refuse_taken(new.id)
            if new.location != old.location:
                self._refuse_shared(new.id, new.location)
            del self._namespace(old.id[:-1]).tables[old.id[-1]]
            self._namespace(new.id[:-1]).tables[new.id[-1]] = _Table(new.location, dict(new.properties))

    @hookimpl
    def close(self) -> None:
        """Delete the tables."""
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _tables_directory(self) -> str:
        """Made on first need, since connecting writes nothing; removed with the backend even if nobody closes it."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix="lancespace-")
            weakref.finalize(self, _delete_of_process, os.getpid(), self._directory)
        return self._directory

    def _namespace(self, names: Names, table: Names = ()) -> _Namespace:
        found = self._root
        for name in names:
            if name not in found.children:
                raise no_namespace(names, table)
            found = found.children[name]
        return found

    def _table(self, names: Names) -> _Table:
        tables = self._namespace(names[:-1], table=names).tables
        if names[-1] not in tables:
            raise no_table(names)
        return tables[names[-1]]

    def _refuse_taken(self, names: Names) -> _Namespace:
        """The namespace in which a table of this name may be entered."""
        parent = self._namespace(names[:-1])
        if names[-1] in parent.tables:
            raise table_exists(names)
        if names[-1] in parent.children:
            raise table_exists(names, "a namespace has this name: choose another")
        return parent

    def _refuse_full(self, namespace: _Namespace, names: Names) -> None:
        if namespace.tables or namespace.children:
            raise namespace_not_empty(names, [*names, next(iter([*namespace.tables, *namespace.children]))])

    def _refuse_shared(self, names: Names, location: str) -> None:
        """Refuse a location that another table has, contains or lies inside."""
        place = self.connection.storage(location)
        for other, table in self._tables((), self._root):
            if other != names and overlap(place, self.connection.storage(table.location)):
                raise location_taken(location, other)

    def _tables(self, names: Names, namespace: _Namespace) -> Iterator[tuple[Names, _Table]]:
        """All tables below a namespace."""
        yield from (((*names, name), table) for name, table in namespace.tables.items())
        for name, child in namespace.children.items():
            yield from self._tables((*names, name), child)


def _delete_of_process(pid: int, directory: str) -> None:
    """Delete a directory, unless this is a forked process that ends: then it is the parent's."""
    if pid == os.getpid():
        shutil.rmtree(directory, ignore_errors=True)

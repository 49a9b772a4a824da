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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

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
    InvalidTableStateError,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    NamespaceNotFoundError,
)

from lancespace.authoring import (
    CREATE_MODES,
    DROP_MODES,
    Connection,
    choose,
    hookimpl,
    location_taken,
    namespace_exists,
    namespace_not_empty,
    no_namespace,
    no_table,
    overlap,
    paginate,
    table_exists,
)
from lancespace_tables._access import TableLocation
from lancespace_tables._backend import TableBackend
from lancespace_tables._entries import TableEntry
from lancespace_tables._view_metadata import View, view_of

Names = tuple[str, ...]
Entry = TypeVar("Entry")


class MemoryBackend(TableBackend):
    """A catalog that lives as long as its connection."""

    wrappers = ("views",)

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._namespaces: dict[Names, dict[str, str]] = {(): {}}
        self._tables: dict[Names, TableEntry] = {}
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
            self._namespace(names[:-1])
            if names in self._tables:
                raise namespace_exists(names, "table")
            if names in self._namespaces and mode == "Create":
                raise namespace_exists(names)
            if mode == "Overwrite":
                self._refuse_full(names)
            if names not in self._namespaces or mode == "Overwrite":
                self._namespaces[names] = dict(request.properties or {})
            return CreateNamespaceResponse(properties=dict(self._namespaces[names]))

    @hookimpl
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """The children's names."""
        with self._lock:
            children = sorted(self._inside(tuple(request.id or ()), self._namespaces))
        namespaces, token = paginate(children, request.page_token, request.limit)
        return ListNamespacesResponse(namespaces=namespaces, page_token=token)

    @hookimpl
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """The namespace's properties."""
        with self._lock:
            return DescribeNamespaceResponse(properties=dict(self._namespace(tuple(request.id or ()))))

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
            self._refuse_full(names)
            del self._namespaces[names]
            return DropNamespaceResponse(properties=dropped)

    @hookimpl
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Enter a table name."""
        names = tuple(request.id or ())
        with self._lock:
            self._refuse_taken(names)
            if request.location is not None:
                self._refuse_shared(names, request.location)
            location = request.location or f"{self._tables_directory()}/{uuid.uuid4().hex}.lance"
            properties = dict(request.properties or {})
            self._tables[names] = TableEntry(names, location, properties)
            return DeclareTableResponse(location=location, properties=properties, storage_options={})

    @hookimpl
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """The names of the tables, leaving out those without data if asked to."""
        with self._lock:
            tables = self._inside(tuple(request.id or ()), self._tables)
        names = sorted(tables)
        if request.include_declared is False:
            names = [name for name in names if TableLocation((name,), tables[name].location, {}).exists()]
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
            del self._tables[names]
        return DeregisterTableResponse(id=list(names), location=table.location, properties=dict(table.properties))

    def replace_entry(self, old: TableEntry, new: TableEntry) -> None:
        """Replace the entry of a table, under the lock."""
        with self._lock:
            table = self._table(old.id)
            old.check(table.location, table.properties)
            if new.id != old.id:
                self._refuse_taken(new.id)
            if new.location != old.location:
                self._refuse_shared(new.id, new.location)
            del self._tables[old.id]
            self._tables[new.id] = replace(new, properties=dict(new.properties))

    def views(self) -> list[View]:
        """All materialized views, by their mark in the properties."""
        with self._lock:
            tables = list(self._tables.values())
        found = []
        for table in tables:
            with suppress(InvalidTableStateError):  # What cannot be read is an error for its own table only.
                found.append(view_of(table.id, table.properties))
        return [view for view in found if view is not None]

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

    def _namespace(self, names: Names, table: Names = ()) -> dict[str, str]:
        """The properties of a namespace."""
        if names not in self._namespaces:
            raise no_namespace(names, table)
        return self._namespaces[names]

    def _table(self, names: Names) -> TableEntry:
        self._namespace(names[:-1], table=names)
        if names not in self._tables:
            raise no_table(names)
        return self._tables[names]

    def _inside(self, names: Names, kind: Mapping[Names, Entry]) -> dict[str, Entry]:
        """The tables, or the namespaces, right inside a namespace."""
        self._namespace(names)
        return {each[-1]: entry for each, entry in kind.items() if each and each[:-1] == names}

    def _refuse_taken(self, names: Names) -> None:
        """Refuse the name of a new table if something has it."""
        self._namespace(names[:-1])
        if names in self._tables:
            raise table_exists(names)
        if names in self._namespaces:
            raise table_exists(names, "a namespace has this name: choose another")

    def _refuse_full(self, names: Names) -> None:
        for each in (*self._tables, *self._namespaces):
            if each and each[:-1] == names:
                raise namespace_not_empty(names, each)

    def _refuse_shared(self, names: Names, location: str) -> None:
        """Refuse a location that another table has, contains or lies inside."""
        place = self.connection.storage(location)
        for other, table in self._tables.items():
            if other != names and overlap(place, self.connection.storage(table.location)):
                raise location_taken(location, other)


def _delete_of_process(pid: int, directory: str) -> None:
    """Delete a directory, unless this is a forked process that ends: then it is the parent's."""
    if pid == os.getpid():
        shutil.rmtree(directory, ignore_errors=True)

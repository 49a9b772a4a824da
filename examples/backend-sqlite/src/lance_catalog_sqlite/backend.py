"""The backend: the eight basic operations, and replacing an entry, as SQL; ``TableBackend`` makes the others."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from sqlite3 import Connection as Database
from sqlite3 import IntegrityError

import lance_namespace as spec

from lance_catalog_sqlite.database import transaction
from lancespace.authoring import (
    CREATE_MODES,
    DROP_MODES,
    Connection,
    Property,
    choose,
    fetch_page,
    hookimpl,
    identifiers,
)
from lancespace_tables import TableBackend, TableEntry, TableLocation

Names = Sequence[str]
Properties = dict[str, str]
Entry = tuple[str | None, Properties]
_CHILDREN = """SELECT name, location FROM entries
WHERE parent = ? AND (location IS NOT NULL) = ? AND name > ? ORDER BY name LIMIT ?"""


class SqliteBackend(TableBackend):
    """A catalog whose names are in a SQLite file, and whose tables are below a root."""

    wrappers = ("views",)
    properties = (
        Property("database", "Path of the SQLite file", required=True, identifies=True),
        Property("root", "Where tables are created: a directory, or a URL such as s3://bucket/lake", required=True),
        Property("storage.", "Options of the root's store"),
    )

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._storage = connection.storage(self.settings["root"], named="root")
        self._path = Path(self.settings["database"]).absolute()

    @hookimpl
    def create_namespace(self, request: spec.CreateNamespaceRequest) -> spec.CreateNamespaceResponse:
        """Enter a namespace."""
        names, mode = request.id or [], choose("mode", request.mode, CREATE_MODES)
        if not names:
            raise spec.NamespaceAlreadyExistsError("The root namespace exists always.")
        with transaction(self._path, writes=True) as db:
            match self._find(db, names), mode:
                case (None, existing), "ExistOk":
                    return spec.CreateNamespaceResponse(properties=existing)
                case (None, _), "Overwrite":
                    self._delete_namespace(db, names)
            self._insert(db, names, (None, request.properties or {}), spec.NamespaceAlreadyExistsError)
        return spec.CreateNamespaceResponse(properties=request.properties or {})

    @hookimpl
    def list_namespaces(self, request: spec.ListNamespacesRequest) -> spec.ListNamespacesResponse:
        """The children's names; SQLite reads no more than the page."""

        def fetch(after: str | None, limit: int | None) -> list[str]:
            return [name for name, _ in self._children(request.id or [], after, limit, tables=False)]

        names, token = fetch_page(fetch, request.page_token, request.limit)
        return spec.ListNamespacesResponse(namespaces=names, page_token=token)

    @hookimpl
    def describe_namespace(self, request: spec.DescribeNamespaceRequest) -> spec.DescribeNamespaceResponse:
        """The namespace's properties."""
        with transaction(self._path) as db:
            return spec.DescribeNamespaceResponse(properties=self._namespace(db, request.id or []))

    @hookimpl
    def drop_namespace(self, request: spec.DropNamespaceRequest) -> spec.DropNamespaceResponse:
        """Take an empty namespace out."""
        names, mode = request.id or [], choose("mode", request.mode, DROP_MODES)
        if not names:
            raise spec.InvalidInputError("The root namespace cannot be dropped.")
        with transaction(self._path, writes=True) as db:
            try:
                properties = self._namespace(db, names)
            except spec.NamespaceNotFoundError:
                if mode == "Skip":
                    return spec.DropNamespaceResponse()
                raise
            self._delete_namespace(db, names)
        return spec.DropNamespaceResponse(properties=properties)

    @hookimpl
    def declare_table(self, request: spec.DeclareTableRequest) -> spec.DeclareTableResponse:
        """Enter a table, at a location that no earlier table had."""
        names, properties = request.id or [], request.properties or {}
        location = request.location or self._storage.uri(f"{uuid.uuid4().hex}.lance")
        with transaction(self._path, writes=True) as db:
            self._insert(db, names, (location, properties), spec.TableAlreadyExistsError)
        options = self._options(location)
        return spec.DeclareTableResponse(location=location, properties=properties, storage_options=options)

    @hookimpl
    def list_tables(self, request: spec.ListTablesRequest) -> spec.ListTablesResponse:
        """The names of the tables, leaving out those without data if asked to."""
        takes_all = request.include_declared is not False

        def has_data(name: str, location: str) -> bool:
            return TableLocation((name,), location, self._options(location)).exists()

        def fetch(after: str | None, limit: int | None) -> list[str]:
            rows = self._children(request.id or [], after, limit if takes_all else None, tables=True)
            wanted = (name for name, location in rows if takes_all or has_data(name, location))
            return list(islice(wanted, limit))

        names, token = fetch_page(fetch, request.page_token, request.limit)
        return spec.ListTablesResponse(tables=names, page_token=token)

    @hookimpl
    def describe_table(self, request: spec.DescribeTableRequest) -> spec.DescribeTableResponse:
        """Where the table is."""
        with transaction(self._path) as db:
            location, properties = self._table(db, request.id or [])
        options = self._options(location)
        return spec.DescribeTableResponse(location=location, properties=properties, storage_options=options)

    @hookimpl
    def deregister_table(self, request: spec.DeregisterTableRequest) -> spec.DeregisterTableResponse:
        """Forget the name."""
        names = request.id or []
        with transaction(self._path, writes=True) as db:
            location, properties = self._table(db, names)
            db.execute("DELETE FROM entries WHERE id = ?", (identifiers.join(names),))
        return spec.DeregisterTableResponse(id=names, location=location, properties=properties)

    def replace_entry(self, old: TableEntry, new: TableEntry) -> None:
        """Replace a table's entry in one transaction; with it come ``rename_table`` and what else changes an entry."""
        with transaction(self._path, writes=True) as db:
            old.check(*self._table(db, old.id))
            db.execute("DELETE FROM entries WHERE id = ?", (identifiers.join(old.id),))
            self._insert(db, new.id, (new.location, dict(new.properties)), spec.TableAlreadyExistsError)

    def _children(self, parent: Names, after: str | None, limit: int | None, *, tables: bool) -> list[tuple[str, str]]:
        with transaction(self._path) as db:
            self._namespace(db, parent)
            return db.execute(_CHILDREN, (identifiers.join(parent), tables, after or "", limit or -1)).fetchall()

    def _find(self, db: Database, names: Names) -> Entry | None:
        found = db.execute(
            "SELECT location, properties FROM entries WHERE id = ?", (identifiers.join(names),)
        ).fetchone()
        return None if found is None else (found[0], json.loads(found[1]))

    def _namespace(self, db: Database, names: Names, table: Names = ()) -> Properties:
        match self._find(db, names):
            case (None, properties):
                return properties
        so = (
            f", so the table {identifiers.show(table)!r} was not found" if table else ""
        )  # lancedb looks for these words.
        raise spec.NamespaceNotFoundError(f"Namespace not found: {identifiers.show(names)!r}{so}.")

    def _table(self, db: Database, names: Names) -> tuple[str, Properties]:
        self._namespace(db, names[:-1], names)
        match self._find(db, names):
            case (str(location), properties):
                return location, properties
        raise spec.TableNotFoundError(f"Table not found: {identifiers.show(names)!r}.")

    def _insert(self, db: Database, names: Names, entry: Entry, taken: type[Exception]) -> None:
        self._namespace(db, names[:-1])
        row = (identifiers.join(names), identifiers.join(names[:-1]), names[-1], entry[0], json.dumps(entry[1]))
        try:
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", row)
        except IntegrityError as error:
            raise taken(f"{identifiers.show(names)!r} already exists: choose another name.") from error

    def _delete_namespace(self, db: Database, names: Names) -> None:
        try:
            db.execute("DELETE FROM entries WHERE id = ?", (identifiers.join(names),))
        except IntegrityError as error:
            raise spec.NamespaceNotEmptyError(
                f"Namespace not empty: {identifiers.show(names)!r}; drop what is in it first."
            ) from error

    def _options(self, location: str) -> dict[str, str]:
        return self.connection.storage(location).options

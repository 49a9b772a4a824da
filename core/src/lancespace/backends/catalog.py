"""Catalog operations that follow from the eight basic ones."""

from __future__ import annotations

import errno
import logging
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from lance_namespace import (
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    DropNamespaceResponse,
    DropTableRequest,
    DropTableResponse,
    InternalError,
    ListNamespacesRequest,
    ListTablesRequest,
    ListTablesResponse,
    NamespaceExistsRequest,
    NamespaceExistsResponse,
    NamespaceNotFoundError,
    TableExistsRequest,
    TableExistsResponse,
    TableNotFoundError,
)

from lancespace import identifiers
from lancespace.backends import claims
from lancespace.backends.choices import DROP_BEHAVIORS, DROP_MODES, choose
from lancespace.hookspecs import hookimpl
from lancespace.storage import overlap
from lancespace.tables.access import TableAccess
from lancespace.tables.paging import paginate

if TYPE_CHECKING:
    from collections.abc import Callable

    from lancespace.connection import Connection
    from lancespace.storage import Storage

_log = logging.getLogger(__name__)


class CatalogOperations(TableAccess):
    """Existence, dropping and recursive listing, by way of the basic operations."""

    cascades_itself: ClassVar[bool] = False
    """Whether the backend's own ``drop_namespace`` does Cascade, in one step; otherwise this class empties it first."""

    if TYPE_CHECKING:
        connection: Connection
        create_namespace: Callable[..., Any]
        list_namespaces: Callable[..., Any]
        describe_namespace: Callable[..., Any]
        drop_namespace: Callable[..., Any]
        list_tables: Callable[..., Any]
        deregister_table: Callable[..., Any]

    @hookimpl
    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        """Answer, or raise NamespaceNotFoundError."""
        self.describe_namespace(DescribeNamespaceRequest(id=request.id))
        return NamespaceExistsResponse()

    @hookimpl
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Answer, or raise TableNotFoundError."""
        if request.version is None:
            self.describe_table(DescribeTableRequest(id=request.id))
        else:
            self.open(request)
        return TableExistsResponse()

    @hookimpl
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """Every table of the catalog by its joined identifier."""
        found = sorted(identifiers.join(names) for names in self._walk([], request.include_declared))
        tables, token = paginate(found, request.page_token, request.limit)
        return ListTablesResponse(tables=tables, page_token=token)

    @hookimpl
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Take the name out, then delete the data: a crash between leaves unreachable files, never half a table.

        The data of the entry that was taken out is deleted: the table may have been dropped and created again since it
        was located.
        """
        ref = self.locate(request)
        gone = self.deregister_table(DeregisterTableRequest(id=request.id))
        if gone.location is None:
            raise InternalError(
                f"The table {ref.name!r} was deregistered and its files were kept: the backend's deregister_table must "
                "answer the location of the entry that it took out."
            )
        storage = self.storage_for(replace(ref, location=gone.location))
        self._delete_data(storage, ref.name)
        return DropTableResponse(id=request.id, location=gone.location, properties=gone.properties)

    @hookimpl(wrapper=True, specname="drop_namespace")
    def empty_before_cascade(
        self, request: DropNamespaceRequest
    ) -> Generator[None, DropNamespaceResponse, DropNamespaceResponse]:
        """With the behavior Cascade, drop the contents first, leaves before branches, so that a repeat can go on."""
        behavior = choose("behavior", request.behavior, DROP_BEHAVIORS)
        choose("mode", request.mode, DROP_MODES)
        if behavior == "Cascade" and not self.cascades_itself and request.id and self._has_namespace(request.id):
            self._drop_contents(request.id)
        return (yield)

    def _drop_contents(self, names: list[str]) -> None:
        """Drop what is in a namespace; another caller may be dropping the same."""
        with suppress(NamespaceNotFoundError):
            for table in list(self._each("tables", self.list_tables, ListTablesRequest, names)):
                with suppress(TableNotFoundError):
                    self.drop_table(DropTableRequest(id=[*names, table]))
            for child in list(self._each("namespaces", self.list_namespaces, ListNamespacesRequest, names)):
                self._drop_contents([*names, child])
                self.drop_namespace(DropNamespaceRequest(id=[*names, child], mode="Skip"))

    def _walk(self, names: list[str], include_declared: bool | None = None) -> Iterator[list[str]]:
        """The tables below a namespace; a namespace that is dropped meanwhile has none."""
        asked = {"include_declared": include_declared}
        with suppress(NamespaceNotFoundError):
            for table in self._each("tables", self.list_tables, ListTablesRequest, names, **asked):
                yield [*names, table]
            for child in self._each("namespaces", self.list_namespaces, ListNamespacesRequest, names):
                yield from self._walk([*names, child], include_declared)

    def users_of(self, storage: Storage) -> list[list[str]]:
        """The tables whose location is this one, contains it or lies inside it."""
        users = []
        for names in self._walk([]):
            with suppress(TableNotFoundError, NamespaceNotFoundError):  # It was dropped meanwhile.
                location = self.describe_table(DescribeTableRequest(id=names)).location
                if overlap(storage, self.connection.storage(location)):
                    users.append(names)
        return users

    def _delete_data(self, storage: Storage, name: str) -> None:
        """Delete what a dropped table leaves; a writer that began before may still add files, which nobody reads."""
        try:
            claims.delete_unless(storage, lambda: self._is_used(storage, name))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            _log.warning("The table %r was written to while it was dropped; files may be left in storage", name)

    def _is_used(self, storage: Storage, name: str) -> bool:
        users = [identifiers.show(names) for names in self.users_of(storage)]
        if users:
            _log.warning("The files of the dropped table %r are kept: they belong to %s, too", name, users)
        return bool(users)

    def _each(
        self, field: str, listing: Callable[..., Any], model: Callable[..., Any], names: list[str], **asked: object
    ) -> Iterator[str]:
        """All names of a listing, page after page."""
        token: str | None = None
        while True:
            page = listing(model(id=names, page_token=token, **asked))
            yield from getattr(page, field)
            token = page.page_token
            if not token:
                return

    def _has_namespace(self, names: list[str]) -> bool:
        try:
            self.describe_namespace(DescribeNamespaceRequest(id=names))
        except NamespaceNotFoundError:
            return False
        return True

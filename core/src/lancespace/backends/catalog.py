"""Catalog operations that follow from the eight basic ones."""

from __future__ import annotations

import errno
import logging
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from lance_namespace import (
    DeclareTableRequest,
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    DropNamespaceResponse,
    DropTableRequest,
    DropTableResponse,
    InvalidInputError,
    ListNamespacesRequest,
    ListTablesRequest,
    ListTablesResponse,
    NamespaceExistsRequest,
    NamespaceExistsResponse,
    NamespaceNotFoundError,
    RegisterTableRequest,
    RegisterTableResponse,
    RenameTableRequest,
    RenameTableResponse,
    TableExistsRequest,
    TableExistsResponse,
    TableNotFoundError,
)

from lancespace import identifiers
from lancespace.backends.choices import DROP_BEHAVIORS, DROP_MODES, REGISTER_MODES, choose
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, TableRef
from lancespace.tables.paging import paginate

if TYPE_CHECKING:
    from collections.abc import Callable

    from lancespace.connection import Connection
    from lancespace.storage import Storage

_log = logging.getLogger(__name__)


class CatalogOperations(TableAccess):
    """Existence, dropping, registering, renaming and recursive listing, by way of the basic operations."""

    cascades_itself: ClassVar[bool] = False
    """Whether the backend's own ``drop_namespace`` does Cascade, in one step; otherwise this class empties it first."""

    if TYPE_CHECKING:
        connection: Connection
        create_namespace: Callable[..., Any]
        list_namespaces: Callable[..., Any]
        describe_namespace: Callable[..., Any]
        drop_namespace: Callable[..., Any]
        declare_table: Callable[..., Any]
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
        tables, token = paginate(sorted(self._walk([], request)), request.page_token, request.limit)
        return ListTablesResponse(tables=tables, page_token=token)

    @hookimpl
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Enter a name for a table that is already in storage."""
        mode = choose("mode", request.mode, REGISTER_MODES)
        ref = TableRef(tuple(request.id or ()), request.location, self.connection.storage(request.location).options)
        if not ref.exists():
            raise InvalidInputError(
                f"There is no Lance table at {request.location!r}: create it first, or declare_table."
            )
        if mode == "Overwrite" and self._is_there(request.id):
            self.deregister_table(DeregisterTableRequest(id=request.id))
        declared = self.declare_table(
            DeclareTableRequest(id=request.id, location=request.location, properties=request.properties)
        )
        return RegisterTableResponse(location=declared.location, properties=declared.properties)

    @hookimpl
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Take the name out, then delete the data: a crash between leaves unreachable files, never half a table."""
        ref = self.locate(request)
        gone = self.deregister_table(DeregisterTableRequest(id=request.id))
        _delete_data(self.storage_for(ref), ref)
        return DropTableResponse(id=request.id, location=ref.location, properties=gone.properties)

    @hookimpl
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Enter the new name for the same location, then take the old one out: a crash leaves two names, never none."""
        names = request.id or []
        parent = names[:-1] if request.new_namespace_id is None else request.new_namespace_id
        target = identifiers.parse([*parent, request.new_table_name])
        described = self.describe_table(DescribeTableRequest(id=names))
        self.declare_table(DeclareTableRequest(id=target, location=described.location, properties=described.properties))
        self.deregister_table(DeregisterTableRequest(id=names))
        return RenameTableResponse()

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
        for table in list(self._each("tables", self.list_tables, ListTablesRequest, names)):
            self.drop_table(DropTableRequest(id=[*names, table]))
        for child in list(self._each("namespaces", self.list_namespaces, ListNamespacesRequest, names)):
            self._drop_contents([*names, child])
            self.drop_namespace(DropNamespaceRequest(id=[*names, child]))

    def _walk(self, names: list[str], request: ListTablesRequest) -> Iterator[str]:
        asked = {"include_declared": request.include_declared}
        for table in self._each("tables", self.list_tables, ListTablesRequest, names, **asked):
            yield identifiers.join([*names, table])
        for child in self._each("namespaces", self.list_namespaces, ListNamespacesRequest, names):
            yield from self._walk([*names, child], request)

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

    def _is_there(self, names: list[str] | None) -> bool:
        try:
            self.describe_table(DescribeTableRequest(id=names))
        except TableNotFoundError:
            return False
        return True

    def _has_namespace(self, names: list[str]) -> bool:
        try:
            self.describe_namespace(DescribeNamespaceRequest(id=names))
        except NamespaceNotFoundError:
            return False
        return True


def _delete_data(storage: Storage, ref: TableRef) -> None:
    """Delete what a dropped table leaves; a writer that began before may still add files, which nobody reads."""
    try:
        storage.delete_tree(storage.path(ref.location))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        _log.warning("The table %r was written to while it was dropped; files may be left in storage", ref.name)

"""The base class that makes a full backend out of eight metadata operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING

from lance_namespace import DescribeTableRequest, DescribeTableResponse

from lancespace.backends.base import Backend
from lancespace.backends.catalog import CatalogOperations
from lancespace.backends.creation import CreationOperations
from lancespace.backends.entries import EntryOperations
from lancespace.backends.jobs import JobOperations
from lancespace.backends.views import ViewOperations
from lancespace.hookspecs import hookimpl
from lancespace.storage import as_uri
from lancespace.tables.access import TableRef
from lancespace.tables.batches import BatchOperations
from lancespace.tables.branches import BranchOperations
from lancespace.tables.data import DataOperations
from lancespace.tables.details import table_details
from lancespace.tables.indexes import IndexOperations
from lancespace.tables.plans import PlanOperations
from lancespace.tables.query import QueryOperations
from lancespace.tables.schema import SchemaOperations
from lancespace.tables.stats import StatsOperations
from lancespace.tables.tags import TagOperations
from lancespace.tables.versions import VersionOperations

if TYPE_CHECKING:
    from lance_namespace import (
        CreateNamespaceRequest,
        CreateNamespaceResponse,
        DeclareTableRequest,
        DeclareTableResponse,
        DeregisterTableRequest,
        DeregisterTableResponse,
        DescribeNamespaceRequest,
        DescribeNamespaceResponse,
        DropNamespaceRequest,
        DropNamespaceResponse,
        ListNamespacesRequest,
        ListNamespacesResponse,
        ListTablesRequest,
        ListTablesResponse,
    )

    from lancespace.expressions.limits import Limits
    from lancespace.storage import Storage


class TableBackend(
    CatalogOperations,
    EntryOperations,
    CreationOperations,
    DataOperations,
    QueryOperations,
    PlanOperations,
    IndexOperations,
    VersionOperations,
    BatchOperations,
    TagOperations,
    BranchOperations,
    SchemaOperations,
    StatsOperations,
    JobOperations,
    ViewOperations,
    Backend,
    ABC,
):
    """Implement the eight basic operations of the spec, marked with ``@hookimpl``, and get the others.

    The Lance SDK does the rest at the location that ``describe_table`` answers. What needs a change of an entry in one
    step, such as ``rename_table``, is there if the backend implements ``replace_entry`` too.
    """

    uses_lance = True

    def query_limits(self) -> Limits | None:
        """The limits of the server, if the namespace is served."""
        return self.connection.limits

    @abstractmethod
    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """Create a namespace; its parent must exist."""

    @abstractmethod
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """The names of the child namespaces, sorted, page by page (:func:`lancespace.tables.paging.paginate`)."""

    @abstractmethod
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """The properties of a namespace."""

    @abstractmethod
    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """Drop an empty namespace; with the behavior Cascade, this class empties it first."""

    @abstractmethod
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Enter a table name, atomically: of several callers exactly one succeeds.

        The location is ``request.location`` if that is given; otherwise the backend chooses one that no table ever had.
        """

    @abstractmethod
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """The names of the tables in a namespace, sorted, page by page."""

    @abstractmethod
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """At least ``location`` and ``storage_options``; what is only known by opening the table is added."""

    @abstractmethod
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Take the name out of the catalog, atomically, and leave the data where it is.

        The answer has the location and the properties of the entry that was taken out.
        """

    def storage_for(self, ref: TableRef) -> Storage:
        """The storage of a table's directory."""
        return self.connection.storage(ref.location)

    @hookimpl(wrapper=True, specname="describe_table")
    def add_table_details(
        self, request: DescribeTableRequest
    ) -> Generator[None, DescribeTableResponse, DescribeTableResponse]:
        """Fill in what the request asks for and only the opened table can tell."""
        response = yield
        if response.table is None:
            names = request.id or []
            response.table, response.namespace = names[-1], names[:-1]
        if request.with_table_uri:
            response.table_uri = as_uri(response.location or "")
        for field, value in self._opened_details(request).items():
            setattr(response, field, value)
        if request.load_detailed_metadata:
            self.add_view_details(request, response)
        return response

    def _opened_details(self, request: DescribeTableRequest) -> dict[str, object]:
        pinned = request.version is not None or request.tag is not None or request.branch is not None
        if not (pinned or request.load_detailed_metadata or request.check_declared):
            return {}
        declared: dict[str, object] = {"is_only_declared": not self.locate(request).exists()}
        if not (pinned or request.load_detailed_metadata) or (declared["is_only_declared"] and not pinned):
            return declared
        return {**declared, **table_details(self.open(request), request)}

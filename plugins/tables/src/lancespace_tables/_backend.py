"""The base class that makes a full backend out of eight metadata operations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from lance_namespace import (
    CreateNamespaceRequest,
    CreateNamespaceResponse,
    DeregisterTableRequest,
    DeregisterTableResponse,
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    DropNamespaceRequest,
    DropNamespaceResponse,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    UnsupportedOperationError,
)

from lancespace.authoring import Backend, Connection, Storage, as_uri, hookimpl, identifiers
from lancespace_tables._access import OperationGroup, TableAccess, TableLocation
from lancespace_tables._backfill import BackfillOperations
from lancespace_tables._catalog import CatalogOperations
from lancespace_tables._commits import StoredVersions, VersionStore
from lancespace_tables._creation import CreationOperations
from lancespace_tables._data import DataOperations
from lancespace_tables._entries import EntryOperations, TableEntry
from lancespace_tables._expressions.limits import Limits
from lancespace_tables._indexes import IndexOperations
from lancespace_tables._plans import PlanOperations
from lancespace_tables._query import QueryOperations
from lancespace_tables._refs import BranchOperations, TagOperations
from lancespace_tables._schema import SchemaOperations
from lancespace_tables._stats import StatsOperations, table_details
from lancespace_tables._transactions import TransactionOperations
from lancespace_tables._versions import VersionOperations
from lancespace_tables._view_metadata import View

GROUPS: tuple[type[OperationGroup], ...] = (
    CatalogOperations,
    EntryOperations,
    CreationOperations,
    DataOperations,
    QueryOperations,
    PlanOperations,
    IndexOperations,
    VersionOperations,
    TagOperations,
    BranchOperations,
    SchemaOperations,
    StatsOperations,
    BackfillOperations,
    TransactionOperations,
)
"""What is done for a backend that can locate tables."""


class TableBackend(TableAccess, Backend):
    """Implement the eight basic operations of the spec, marked with ``@hookimpl``, and get the others.

    The Lance SDK does the rest at the location that ``describe_table`` answers. An operation that the backend itself
    implements comes before ours; it may answer None to leave a request to ours. What needs a change of an entry in one
    step, such as ``rename_table``, is there if the backend implements ``replace_entry`` too.
    """

    uses_lance = True
    cascades_itself: ClassVar[bool] = False
    """Whether its own ``drop_namespace`` does Cascade, in one step; otherwise what is in the namespace goes first."""
    guards_sources: ClassVar[bool] = False
    """Whether it refuses by itself, in one step with the change, to take away what views are made from."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.groups = tuple(group(self) for group in GROUPS)

    def query_limits(self) -> Limits | None:
        """The limits of the server, if the namespace is served."""
        limits = self.connection.limits
        return limits if isinstance(limits, Limits) else None

    @abstractmethod
    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """Create a namespace; its parent must exist."""

    @abstractmethod
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """The names of the child namespaces, sorted, page by page (:func:`lancespace._paging.paginate`)."""

    @abstractmethod
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """The properties of a namespace."""

    @abstractmethod
    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """Drop an empty namespace; with the behavior Cascade, this class empties it first."""

    @abstractmethod
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """The names of the tables in a namespace, sorted, page by page."""

    @abstractmethod
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Take the name out of the catalog, atomically, and leave the data where it is.

        The answer has the location and the properties of the entry that was taken out.
        """

    def replace_entry(self, old: TableEntry, new: TableEntry) -> None:  # noqa: ARG002 - for overriding
        """Replace a table's entry by another one, of the same name or not, in one step; optional.

        A backend that implements it gets ``rename_table``, ``register_table`` with mode Overwrite, and ``create_table``
        with mode Overwrite and properties.

        Raises:
            TableNotFoundError: The catalog has no table of the old name.
            ConcurrentModificationError: It has another entry there than ``old``: see :meth:`TableEntry.check`.
            NamespaceNotFoundError: There is no namespace for the new name.
            TableAlreadyExistsError: The new name is another one, and taken.
        """
        raise UnsupportedOperationError(
            f"This catalog cannot change the entry of the table {identifiers.show(old.id)!r} in one step: create the "
            "table anew, or deregister it and register it again while nobody else uses it."
        )

    def replace_properties(self, old: TableEntry, properties: Mapping[str, str]) -> None:
        """Have the catalog keep other properties of a table, which was overwritten."""
        if old.properties != properties:
            self.replace_entry(old, replace(old, properties=properties))

    def has_own(self, name: str) -> bool:
        """Whether the backend itself implements an optional method."""
        return getattr(type(self), name) is not getattr(TableBackend, name)

    def plugins(self) -> Sequence[object]:
        """The operations that are done for it."""
        return self.groups

    def views(self) -> list[View] | None:
        """All materialized views, if the catalog finds them without describing every table."""
        return None

    def storage_for(self, ref: TableLocation) -> Storage:
        """The storage of a table's directory."""
        return self.connection.storage(ref.location)

    def versions_of(self, ref: TableLocation, branch: str | None) -> VersionStore:
        """Where the versions of a table's branch are: in storage, unless the backend keeps them."""
        return StoredVersions(ref, branch, self.storage_for(ref))

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
        return response

    def _opened_details(self, request: DescribeTableRequest) -> dict[str, object]:
        pinned = request.version is not None or request.tag is not None or request.branch is not None
        if not (pinned or request.load_detailed_metadata or request.check_declared):
            return {}
        declared: dict[str, object] = {"is_only_declared": not self.locate(request).exists()}
        if not (pinned or request.load_detailed_metadata) or (declared["is_only_declared"] and not pinned):
            return declared
        return {**declared, **table_details(self.open(request), request)}

"""The directory backend: a catalog that is nothing but a directory, in storage of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import (
    CreateNamespaceRequest,
    CreateNamespaceResponse,
    CreateTableRequest,
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
    DropTableRequest,
    DropTableResponse,
    InvalidInputError,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    NamespaceNotFoundError,
    RegisterTableRequest,
    RegisterTableResponse,
    RenameTableRequest,
    RenameTableResponse,
    TableExistsRequest,
    TableExistsResponse,
)

from lancespace import hookimpl, identifiers
from lancespace.backends.choices import CREATE_MODES, DROP_BEHAVIORS, DROP_MODES, REGISTER_MODES, choose
from lancespace.operations import OPERATIONS
from lancespace.storage.vending import make_vendor
from lancespace.tables.access import TableRef
from lancespace.tables.clients import VersionClient
from lancespace.tables.paging import fetch_page
from lancespace_dir import reservations, root, versionrows
from lancespace_dir.catalogs import Catalog, Place, choose_catalog
from lancespace_dir.pages import filtered
from lancespace_dir.settings import PROPERTIES
from lancespace_dir.v2 import ManifestCatalog
from lancespace_dir.versioning import VersioningBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from lancespace.backends.entries import TableEntry
    from lancespace.connection import Connection
    from lancespace.storage import Storage
    from lancespace.views.marks import View


class DirectoryBackend(VersioningBackend):
    """Answers the operations; what differs between V1, V2 and compatibility mode is in its catalog."""

    properties = PROPERTIES
    cascades_itself = True
    guards_sources = True

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        root.require_place(self.settings["root"])
        self.root = root.normalise(self.settings["root"])
        self.storage = connection.storage(self.root, named="root")
        self.catalog: Catalog = choose_catalog(self.settings, self.storage)
        self.vendor = make_vendor(connection, self.storage)

    @hookimpl
    def supported_operations(self) -> frozenset[str]:
        """All, less what the catalog's mode has no place for."""
        return frozenset(OPERATIONS) - self.catalog.lacks

    @hookimpl
    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """Enter a namespace."""
        mode = choose("mode", request.mode, CREATE_MODES)
        properties = self.catalog.create_namespace(request.id or [], request.properties or {}, mode)
        return CreateNamespaceResponse(properties=dict(properties))

    @hookimpl
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """Child namespaces, page by page."""

        def fetch(after: str | None, count: int | None) -> list[str]:
            return self.catalog.namespaces(request.id or [], after, count)

        names, token = fetch_page(fetch, request.page_token, request.limit)
        return ListNamespacesResponse(namespaces=names, page_token=token)

    @hookimpl
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """A namespace's properties."""
        return DescribeNamespaceResponse(properties=dict(self.catalog.namespace_properties(request.id or [])))

    @hookimpl
    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """Take a namespace out; with Cascade, all that is in it goes in the same commit."""
        if not request.id:
            raise InvalidInputError("The root namespace cannot be dropped.")
        skip = choose("mode", request.mode, DROP_MODES) == "Skip"
        cascade = choose("behavior", request.behavior, DROP_BEHAVIORS) == "Cascade"
        try:
            properties = self.catalog.drop_namespace(request.id, cascade=cascade)
        except NamespaceNotFoundError:
            if skip:
                return DropNamespaceResponse()
            raise
        return DropNamespaceResponse(properties=dict(properties))

    @hookimpl
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Enter a table without data."""
        place = self.catalog.declare(request.id or [], request.location, request.properties or {})
        return self.declared(request, place)

    @hookimpl
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """The tables of a namespace, page by page."""
        names = request.id or []

        def fetch(after: str | None, count: int | None) -> list[str]:
            return self.catalog.tables(names, after, count)

        created = (lambda name: self._is_created([*names, name])) if request.include_declared is False else None
        tables, token = fetch_page(filtered(fetch, created), request.page_token, request.limit)
        return ListTablesResponse(tables=tables, page_token=token)

    @hookimpl
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """All tables by joined identifier, page by page."""
        created = None
        if request.include_declared is False:
            created = lambda object_id: self._is_created(identifiers.split(object_id))  # noqa: E731 - a predicate
        tables, token = fetch_page(filtered(self.catalog.all_tables, created), request.page_token, request.limit)
        return ListTablesResponse(tables=tables, page_token=token)

    @hookimpl
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Where a table is; the base class adds what only the opened table tells."""
        names = request.id or []
        place = self.catalog.find(names)
        location = self.storage.uri(place.location)
        return DescribeTableResponse(
            table=names[-1],
            namespace=names[:-1],
            location=location,
            storage_options=self._vended(request, location),
            properties=_known(place),
            managed_versioning=self._commits_here(place),
        )

    @hookimpl
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Answer, or raise TableNotFoundError."""
        if request.version is not None:
            return super().table_exists(request)
        self.catalog.find(request.id or [])
        return TableExistsResponse()

    @hookimpl
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Take a table's name out and leave its data."""
        place = self.catalog.deregister(request.id or [])
        return self.deregistered(request, place)

    @hookimpl
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Enter a name for a table that is below the root."""
        overwrite = choose("mode", request.mode, REGISTER_MODES) == "Overwrite"
        location = root.relative(request.location, self.root)
        if not self.ref(request.id or [], Place(location)).exists():
            raise InvalidInputError(
                f"There is no Lance table at {request.location!r}: create it first, or use declare_table."
            )
        place = self.catalog.register(request.id or [], location, request.properties or {}, overwrite=overwrite)
        return RegisterTableResponse(location=self.storage.uri(place.location), properties=_known(place))

    @hookimpl
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Give a table another name, also in another namespace; its data stays where it is."""
        names = request.id or []
        parent = names[:-1] if request.new_namespace_id is None else request.new_namespace_id
        self.catalog.rename(names, identifiers.parse([*parent, request.new_table_name]))
        return RenameTableResponse()

    @hookimpl
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Take a table out and delete its data."""
        place = self.catalog.drop(request.id or [])
        return DropTableResponse(id=request.id, location=self.storage.uri(place.location), properties=_known(place))

    def drop_declared(self, names: list[str]) -> None:
        """Drop a table that has no data; one that gets some meanwhile stays."""
        place = self.catalog.find(names)

        def is_empty() -> bool:
            reserved = reservations.is_reserved(self.storage, place.location)
            return reserved and not reservations.has_staged(self.storage, place.location)

        is_out = is_empty()
        if is_out and isinstance(self.catalog, ManifestCatalog):
            entry = self.catalog.manifest.get(identifiers.join(names))
            is_out = entry is not None and reservations.take_out(self.catalog.manifest, entry, is_empty)
        if is_out:
            reservations.delete_marks(self.storage, place.location)

    @hookimpl
    def close(self) -> None:
        """Finish what is under way."""
        self.catalog.close()

    def settled(self) -> dict[str, str]:
        """The root, wherever one is."""
        return {"root": self.root}

    def job_storage(self) -> Storage:
        """Beside the tables; the name is none that a table's directory can have."""
        return self.connection.storage(f"{self.root}/{root.JOBS}")

    def views(self) -> list[View]:
        """All materialized views, from the manifest."""
        return self.catalog.views()

    def locate(self, request: BaseModel) -> TableRef:
        """A table with the options that open it, which are not part of any answer: they may hold secrets."""
        names: list[str] = getattr(request, "id", None) or []
        return self.ref(names, self.catalog.find(names))

    def declare_for_data(self, request: CreateTableRequest) -> tuple[TableRef, DeclareTableResponse]:
        """Enter a table whose first data follows: the catalog tells where it is in the same step."""
        names = request.id or []
        place = self.catalog.declare(names, None, request.properties or {}, with_data=True)
        return self.ref(names, place), self.declared(DeclareTableRequest(id=names), place)

    def replaceable(self, ref: TableRef, properties: Mapping[str, str]) -> TableEntry:
        """As in the base class; whether the catalog manages a table is settled when its name is entered."""
        _, wanted = versionrows.split(properties)
        if wanted is not None and wanted is (ref.versions is None):
            raise InvalidInputError(
                f"The property {versionrows.MANAGEMENT!r} of the table {ref.name!r} cannot change: leave it out, or "
                "drop the table and create it again."
            )
        return super().replaceable(ref, properties)

    def replace_properties(self, old: TableEntry, properties: Mapping[str, str]) -> None:
        """Keep other properties of a table, in one step, if nobody else has changed them."""
        self.catalog.replace_properties(list(old.id), properties, lambda place: self._check(old, place))

    def _check(self, old: TableEntry, place: Place) -> None:
        old.check(self.storage.uri(place.location), _known(place) or {})

    def check_overwrite(self, ref: TableRef) -> None:
        """Refuse to overwrite a table whose files are also those of another."""
        self.catalog.check_overwrite(list(ref.id))

    def ref(self, names: list[str], place: Place) -> TableRef:
        """A table with the options that open it; Lance commits to a managed one through this backend."""
        versions = VersionClient(self) if place.is_managed else None
        return TableRef(tuple(names), self.storage.uri(place.location), self.storage.options, versions)

    def declared(self, request: DeclareTableRequest, place: Place) -> DeclareTableResponse:
        """The answer for a table that was declared."""
        location = self.storage.uri(place.location)
        return DeclareTableResponse(
            location=location,
            storage_options=self._vended(request, location),
            properties=_known(place),
            managed_versioning=self._commits_here(place),
        )

    def deregistered(self, request: DeregisterTableRequest, place: Place) -> DeregisterTableResponse:
        """The answer for a table that was deregistered."""
        location = self.storage.uri(place.location)
        return DeregisterTableResponse(id=request.id, location=location, properties=_known(place))

    def _commits_here(self, place: Place) -> bool | None:
        """Whether clients are to commit through the catalog."""
        return place.is_managed or self.settings["table_version_tracking_enabled"] or None

    def _vended(self, request: DescribeTableRequest | DeclareTableRequest, location: str) -> dict[str, str] | None:
        """Temporary credentials, unless the client wants none; the catalog's own are part of no answer."""
        return None if self.vendor is None or request.vend_credentials is False else self.vendor.options(location)

    def _is_created(self, names: list[str]) -> bool:
        return self.ref(names, self.catalog.find(names)).exists()


def _known(place: Place) -> dict[str, str] | None:
    return None if place.properties is None else dict(place.properties)

"""The directory backend: a catalog that is nothing but a directory, in storage of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import (
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsResponse,
    CreateNamespaceRequest,
    CreateNamespaceResponse,
    CreateTableRequest,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
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
from lance_namespace_urllib3_client.models.commit_table_result import CommitTableResult

from lancespace.authoring import (
    CREATE_MODES,
    DROP_BEHAVIORS,
    DROP_MODES,
    OPERATIONS,
    REGISTER_MODES,
    choose,
    fetch_page,
    hookimpl,
    identifiers,
    make_vendor,
)
from lancespace_dir import reservations, root, versionrows
from lancespace_dir.batches import Batch, CreateVersion, DeleteVersions, Part, Step
from lancespace_dir.catalogs import CatalogEntry
from lancespace_dir.listing_catalog import ListingCatalog
from lancespace_dir.manifest_catalog import ManifestCatalog
from lancespace_dir.pages import Fetch, filtered
from lancespace_dir.settings import PROPERTIES
from lancespace_dir.versionrows import MANAGEMENT
from lancespace_tables import MAIN_BRANCH, BatchPart, TableBackend, TableLocation, VersionClient, part_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from lancespace.authoring import Connection, Settings, Storage
    from lancespace_tables import TableEntry, VersionStore, View

    Catalog = ManifestCatalog | ListingCatalog

_SEVERAL = 2


class DirectoryBackend(TableBackend):
    """Answers the operations; what differs between V1, V2 and compatibility mode is in its catalog."""

    properties = PROPERTIES
    wrappers = ("views",)
    cascades_itself = True
    guards_sources = True

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        root.check_root(self.settings["root"])
        self.root = root.normalise(self.settings["root"])
        self.storage = connection.storage(self.root, named="root")
        self.catalog = _catalog(self.settings, self.storage)
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

        return self._page(request, fetch, lambda name: [*names, name])

    @hookimpl
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """All tables by joined identifier, page by page."""
        return self._page(request, self.catalog.all_tables, identifiers.split)

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
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse | None:
        """Answer, or raise TableNotFoundError; whether a version exists, only the opened table tells."""
        if request.version is not None:
            return None
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
        if not self.ref(request.id or [], CatalogEntry(location)).exists():
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

    @hookimpl
    def batch_create_table_versions(
        self, request: BatchCreateTableVersionsRequest
    ) -> BatchCreateTableVersionsResponse | None:
        """Make versions of several managed tables, in one commit of the manifest; one version is no batch."""
        if len(request.entries) < _SEVERAL or not isinstance(self.catalog, ManifestCatalog):
            return None
        parts = [
            (BatchPart.CREATE_VERSION, CreateTableVersionRequest(**entry.model_dump())) for entry in request.entries
        ]
        done = self._commit_batch(self.catalog, parts)
        return BatchCreateTableVersionsResponse(versions=[each.version for each in done])

    @hookimpl
    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse | None:
        """Change several tables in one commit of the manifest; one change is no batch."""
        if len(request.operations) < _SEVERAL or not isinstance(self.catalog, ManifestCatalog):
            return None
        parts = [part_of(operation, position) for position, operation in enumerate(request.operations)]
        done = self._commit_batch(self.catalog, parts)
        results = [CommitTableResult(**{kind.value: each}) for (kind, _), each in zip(parts, done, strict=True)]
        return BatchCommitTablesResponse(results=results)

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

    def absolute_properties(self) -> dict[str, str]:
        """The root, wherever one is."""
        return {"root": self.root}

    def job_storage(self) -> Storage:
        """Beside the tables; the name is none that a table's directory can have."""
        return self.connection.storage(f"{self.root}/{root.JOBS}")

    def views(self) -> list[View]:
        """All materialized views, from the manifest."""
        return self.catalog.views()

    def locate(self, request: BaseModel) -> TableLocation:
        """A table with the options that open it, which are not part of any answer: they may hold secrets."""
        names: list[str] = getattr(request, "id", None) or []
        return self.ref(names, self.catalog.find(names))

    def declare_for_data(self, request: CreateTableRequest) -> tuple[TableLocation, DeclareTableResponse]:
        """Enter a table whose first data follows: the catalog tells where it is in the same step."""
        names = request.id or []
        place = self.catalog.declare(names, None, request.properties or {}, with_data=True)
        return self.ref(names, place), self.declared(DeclareTableRequest(id=names), place)

    def check_properties(self, ref: TableLocation, properties: Mapping[str, str]) -> None:
        """Refuse to change whether the catalog manages a table: that is decided when its name is entered."""
        _, wanted = versionrows.split(properties)
        if wanted is not None and wanted is (ref.versions is None):
            raise InvalidInputError(
                f"The property {MANAGEMENT!r} of the table {ref.name!r} cannot change: leave it out, or "
                "drop the table and create it again."
            )

    def replace_properties(self, old: TableEntry, properties: Mapping[str, str]) -> None:
        """Keep other properties of a table, in one step, if nobody else has changed them."""
        self.catalog.replace_properties(list(old.id), properties, lambda place: self._check(old, place))

    def _check(self, old: TableEntry, place: CatalogEntry) -> None:
        old.check(self.storage.uri(place.location), _known(place) or {})

    def check_overwrite(self, ref: TableLocation) -> None:
        """Refuse to overwrite a table whose files are also those of another."""
        self.catalog.check_overwrite(list(ref.id))

    def versions_of(self, ref: TableLocation, branch: str | None) -> VersionStore:
        """The manifest's versions of a managed table; those of branches are in storage."""
        if ref.versions is not None and branch in {None, MAIN_BRANCH} and isinstance(self.catalog, ManifestCatalog):
            return self.catalog.managed.of(ref)
        return super().versions_of(ref, branch)

    def _commit_batch(self, catalog: ManifestCatalog, parts: list[Part]) -> list[Any]:
        """Commit a batch, and answer for each part."""
        done = Batch(catalog, self.ref).commit(parts)
        return [self._answer(part, step, result) for part, (step, result) in zip(parts, done, strict=True)]

    def _answer(self, part: Part, step: Step, result: Any) -> Any:
        if isinstance(step, CreateVersion):
            return CreateTableVersionResponse(version=step.versions.describe(result.manifest))
        if isinstance(step, DeleteVersions):
            return BatchDeleteTableVersionsResponse(deleted_count=len(result))
        kind, request = part
        return self.declared(request, result) if kind == BatchPart.DECLARE else self.deregistered(request, result)

    def ref(self, names: list[str], place: CatalogEntry) -> TableLocation:
        """A table with the options that open it; Lance commits to a managed one through this backend."""
        versions = VersionClient(self) if place.is_managed else None
        return TableLocation(tuple(names), self.storage.uri(place.location), self.storage.options, versions)

    def declared(self, request: DeclareTableRequest, place: CatalogEntry) -> DeclareTableResponse:
        """The answer for a table that was declared."""
        location = self.storage.uri(place.location)
        return DeclareTableResponse(
            location=location,
            storage_options=self._vended(request, location),
            properties=_known(place),
            managed_versioning=self._commits_here(place),
        )

    def deregistered(self, request: DeregisterTableRequest, place: CatalogEntry) -> DeregisterTableResponse:
        """The answer for a table that was deregistered."""
        location = self.storage.uri(place.location)
        return DeregisterTableResponse(id=request.id, location=location, properties=_known(place))

    def _commits_here(self, place: CatalogEntry) -> bool | None:
        """Whether clients are to commit through the catalog."""
        return place.is_managed or self.settings["table_version_tracking_enabled"] or None

    def _vended(self, request: DescribeTableRequest | DeclareTableRequest, location: str) -> dict[str, str] | None:
        """Temporary credentials, unless the client wants none; the catalog's own are part of no answer."""
        return None if self.vendor is None or request.vend_credentials is False else self.vendor.options(location)

    def _page(
        self, request: ListTablesRequest, fetch: Fetch, names_of: Callable[[str], list[str]]
    ) -> ListTablesResponse:
        """A page of tables; those that were only declared can be left out."""

        def is_created(name: str) -> bool:
            names = names_of(name)
            return self.ref(names, self.catalog.find(names)).exists()

        kept = filtered(fetch, is_created) if request.include_declared is False else fetch
        tables, token = fetch_page(kept, request.page_token, request.limit)
        return ListTablesResponse(tables=tables, page_token=token)


def _known(place: CatalogEntry) -> dict[str, str] | None:
    return None if place.properties is None else dict(place.properties)


def _catalog(settings: Settings, storage: Storage) -> Catalog:
    """The catalog that the properties ask for: V1, V2, or both."""
    if settings["manifest_enabled"]:
        return ManifestCatalog(
            storage,
            commit_retries=settings["commit_retries"],
            with_upkeep=settings["inline_optimization_enabled"],
            with_v1=settings["dir_listing_enabled"],
            managing=settings[MANAGEMENT],
        )
    if settings[MANAGEMENT]:
        raise InvalidInputError(f"A V1 catalog cannot keep table versions: {MANAGEMENT} needs manifest_enabled=true.")
    if settings["dir_listing_enabled"]:
        return ListingCatalog(storage)
    raise InvalidInputError(
        "One of manifest_enabled and dir_listing_enabled must be true, or the catalog could hold nothing."
    )

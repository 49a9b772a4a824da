"""Materialized views: tables that keep the result of a query over other tables."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import lance
from lance_namespace import (
    BatchCommitTablesRequest,
    CreateMaterializedViewRequest,
    CreateMaterializedViewResponse,
    CreateTableRequest,
    DescribeTableRequest,
    DescribeTableResponse,
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    RefreshMaterializedViewRequest,
    RefreshMaterializedViewResponse,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from pydantic import BaseModel

from lancespace.authoring import (
    DROP_BEHAVIORS,
    OPERATIONS,
    PRINCIPAL,
    UDF_PROPERTY,
    ArrowData,
    Connection,
    Job,
    Kind,
    Property,
    Subject,
    Work,
    acting,
    choose,
    hookimpl,
    identifiers,
    translated,
)
from lancespace_tables import DEFINITION, View, name_of, view_of
from lancespace_views import _calls as calls
from lancespace_views import _queries as queries
from lancespace_views._auto_refresh import AutoRefresh
from lancespace_views._catalog import ViewCatalog
from lancespace_views._definition import Definition, define, stored
from lancespace_views._queries import Source
from lancespace_views._refresh import Options, Refresh
from lancespace_views._state import read_state

Around = Generator[None, Any, Any]

WRITES = tuple(
    row.name
    for row in OPERATIONS.values()
    if row.writes and row.subject is Subject.TABLE and (row.kind is Kind.DATA or row.name.endswith("_columns"))
)
"""What changes rows or columns of a table; a view has its own from its query."""
COMMITS = ("restore_table", "create_table_version")
"""What makes another version the latest, of a view too: its rows go with what they were made from."""
TAKE_AWAY = ("drop_table", "deregister_table", "rename_table")
"""What would leave a view without a table of the name that its query has."""

REFRESHED = "lancespace.view.sources"
"""What describe_table calls the versions of the sources that a view's rows were made from."""

_REFRESH = OPERATIONS["refresh_materialized_view"]


class ViewsWrapper:
    """Materialized views for a backend: the two operations, and what others must not do to views and their sources."""

    properties: ClassVar[tuple[Property, ...]] = (
        Property(
            "threshold",
            "The number of changes of its sources after which a view with auto_refresh is refreshed",
            type=int,
            default=1,
        ),
        Property("cooldown", "Seconds between two automatic refreshes of one view, at least", type=float, default=1.0),
    )

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.catalog = ViewCatalog(connection)
        self.backend = self.catalog.backend
        self._auto = AutoRefresh(
            self._refresh_automatically,
            self._submit,
            lambda job_id: connection.hooks.describe_job(job_id=job_id),
            threshold=connection.settings["views.threshold"],
            cooldown=connection.settings["views.cooldown"],
        )

    @hookimpl
    def create_materialized_view(self, request: CreateMaterializedViewRequest) -> CreateMaterializedViewResponse:
        """Enter a view with the tables that it depends on, and write its definition; a refresh brings the rows."""
        definition = define(request)
        view = self._planned(request, definition)
        self._reserve_view(view, definition)
        dataset = self.backend.locate(request).open()
        with translated(f"create the view {name_of(request)!r}"):
            dataset.update_metadata(definition.metadata)
        self.catalog.forget_automatic()
        job_id = self._start(view, Options()) if request.with_no_data is False else None
        return CreateMaterializedViewResponse(version=dataset.version, job_id=job_id)

    @hookimpl
    def refresh_materialized_view(self, request: RefreshMaterializedViewRequest) -> RefreshMaterializedViewResponse:
        """Start a job that brings a view up to date with its sources as they are now, or were at ``src_version``."""
        names = request.id or []
        view = self.catalog.find(names)
        if view is None:
            raise InvalidInputError(f"The table {identifiers.show(names)!r} is not a materialized view.")
        return RefreshMaterializedViewResponse(job_id=self._start(view, Options.of(view, request), request.src_version))

    @hookimpl(wrapper=True, specname="describe_table")
    def add_view_details(self, request: DescribeTableRequest) -> Generator[None, DescribeTableResponse, Any]:
        """If the table is a view, report which versions of its sources it was made from."""
        response = yield
        if request.load_detailed_metadata and view_of(request.id or [], response.properties) is not None:
            dataset = self.backend.locate(request).latest()
            state = None if dataset is None else read_state(dataset)
            if state is not None:
                response.metadata = {**(response.metadata or {}), REFRESHED: state.shown()}
        return response

    @hookimpl(wrapper=True, specname="drop_namespace")
    def keep_sources_of_outside_views(self, request: Any) -> Around:
        """A namespace that is dropped with its tables must not leave views without their sources elsewhere."""
        with self.catalog.naming_visible():
            is_cascade = choose("behavior", request.behavior, DROP_BEHAVIORS) == "Cascade"
            if is_cascade and not self.backend.guards_sources:
                self.catalog.refuse_cascade(tuple(request.id or ()))
            return (yield)

    @hookimpl(wrapper=True, specname="batch_commit_tables")
    def keep_sources_in_batches(self, request: BatchCommitTablesRequest) -> Around:
        """A batch takes no source of a view away, as no single operation does."""
        with self.catalog.naming_visible():
            if not self.backend.guards_sources:
                for operation in request.operations:
                    if operation.deregister_table is not None:
                        self.catalog.refuse_removal(operation.deregister_table)
            return (yield)

    @hookimpl(tryfirst=True, specname="close")
    def finish_automatic_refreshes(self) -> None:
        """Before the engine stops its jobs: what this connection changed is in the views that follow it."""
        self._auto.finish()

    def _planned(self, request: CreateMaterializedViewRequest, definition: Definition) -> View:
        """The view with its sources, once the query, the schema and the function are known to go together."""

        def open_source(names: tuple[str, ...]) -> lance.LanceDataset:
            asked = DescribeTableRequest(id=list(names), identity=request.identity, context=request.context)
            self.connection.hooks.describe_table(request=asked)  # Wrappers may forbid it to this caller.
            return self.backend.open(DescribeTableRequest(id=list(names)))

        self._check_query(definition)
        planned = queries.plan(definition.sql, open_source)
        if not planned.sources:
            raise InvalidInputError("source_query reads no table: there is nothing to keep a view of.")
        if definition.call is None:
            calls.check_schema(definition.schema, planned.schema, "The query")
        else:
            calls.check_columns(definition.call, planned.schema)
        sources = tuple(sorted(planned.sources))
        return View(tuple(request.id or ()), definition.kind, sources, bool(request.auto_refresh), PRINCIPAL.get())

    def _reserve_view(self, view: View, definition: Definition) -> None:
        """Create the view's table, without rows and with the catalog's mark.

        What is left of the same create, if that was interrupted, is taken up again.
        """
        data = ArrowData(definition.schema.empty_table())
        try:
            self.backend.operation("create_table")(
                CreateTableRequest(id=list(view.names), properties=view.properties), data
            )
        except TableAlreadyExistsError:
            if self.catalog.find(view.names) != view:
                raise
            dataset = self.backend.open(DescribeTableRequest(id=list(view.names)))
            if DEFINITION in dataset.metadata or not dataset.schema.equals(definition.schema):
                raise

    def _check_query(self, definition: Definition) -> None:
        """Refuse a query beyond the limits of the server, if this is one; it may have come with the table."""
        limits = self.backend.query_limits()
        if limits is not None:
            limits.check_statement(definition.sql, "source_query")

    def _allow_function(self, name: str) -> None:
        """Refuse to run a function that came with a view, unless the connection allows functions."""
        if not self.connection.settings[UDF_PROPERTY.name]:
            raise PermissionDeniedError(
                f"The view {name!r} runs Python code that came with it, and this connection does not run such code: "
                f"connect with {UDF_PROPERTY.name}=true if you trust everybody who can create views in this catalog."
            )

    def _start(self, view: View, options: Options, version: int | None = None) -> str:
        refresh = self._refresh(view, options, version)
        about = identifiers.show(view.names)
        return self._submit(Job("refresh", about, lambda work: self._run(view, refresh, work), refresh.fingerprint()))

    def _run(self, view: View, refresh: Refresh, work: Work) -> None:
        """Refresh a view with the rights of its creator, and have those follow that are made from it."""
        with acting(view.creator):
            request = RefreshMaterializedViewRequest(id=list(view.names))
            self.connection.hooks.check_access(operation=_REFRESH, request=request)
            for source in view.sources:
                self.catalog.check_read(source)
            if refresh.run(work):
                self._changed(view.names)

    def _refresh(self, view: View, options: Options, version: int | None = None) -> Refresh:
        """A refresh from the sources as they are now; from here on, it sees nothing else."""
        ref = self.backend.locate(DescribeTableRequest(id=list(view.names)))
        dataset = ref.open()
        definition = stored(dataset.metadata, ref.name)
        self._check_query(definition)
        if definition.call is not None:
            self._allow_function(ref.name)
        sources = tuple(self._pinned(names, version) for names in view.sources)
        return Refresh(ref, definition, sources, options, dataset.version)

    def _pinned(self, names: tuple[str, ...], version: int | None) -> Source:
        ref = self.backend.locate(DescribeTableRequest(id=list(names)))
        return Source(replace(ref, versions=None), ref.open(version).version)

    def _changed(self, names: tuple[str, ...]) -> None:
        """A table has changed: have the views that follow it refreshed."""
        for view in self.catalog.automatic():
            if names in view.sources:
                with acting(view.creator):  # The rights are those of the view's creator, not of the caller.
                    self._auto.changed(view.names)

    def _refresh_automatically(self, names: tuple[str, ...], work: Work) -> None:
        with suppress(TableNotFoundError, NamespaceNotFoundError):  # The view was dropped.
            view = self.catalog.find(names)
            if view is not None:
                self._run(view, self._refresh(view, Options()), work)

    def _submit(self, job: Job) -> str:
        self.connection.use_engine()
        job_id: str = self.connection.hooks.submit_job(job=job)
        return job_id


def _around_change(operation: str, *, of_rows: bool) -> Callable[..., Around]:
    def around(self: ViewsWrapper, request: BaseModel) -> Around:
        if of_rows:
            self.catalog.refuse_write(operation, request)
        answer = yield
        self._changed(tuple(getattr(request, "id", None) or ()))
        return answer

    return hookimpl(wrapper=True, specname=operation)(around)


def _around_removal(operation: str) -> Callable[..., Around]:
    def around(self: ViewsWrapper, request: BaseModel) -> Around:
        with self.catalog.naming_visible():
            if not self.backend.guards_sources:
                self.catalog.refuse_removal(request)
            return (yield)

    return hookimpl(wrapper=True, specname=operation)(around)


for _name in (*WRITES, *COMMITS):
    setattr(ViewsWrapper, f"notice_{_name}", _around_change(_name, of_rows=_name in WRITES))
for _name in TAKE_AWAY:
    setattr(ViewsWrapper, f"guard_{_name}", _around_removal(_name))

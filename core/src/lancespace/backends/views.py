"""Materialized views: tables that keep the result of a query over other tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    CreateMaterializedViewRequest,
    CreateMaterializedViewResponse,
    CreateTableRequest,
    DescribeTableRequest,
    DescribeTableResponse,
    InvalidInputError,
    PermissionDeniedError,
    RefreshMaterializedViewRequest,
    RefreshMaterializedViewResponse,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)

from lancespace import identifiers
from lancespace.arrow import ArrowData
from lancespace.backends.viewguards import ViewGuards
from lancespace.connection import UDF_PROPERTY
from lancespace.engines import Job
from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.operations import OPERATIONS
from lancespace.principals import PRINCIPAL, acting
from lancespace.tables.access import name_of
from lancespace.views import calls, conform, queries
from lancespace.views.definition import CHUNKER, Definition, define, stored
from lancespace.views.marks import DEFINITION, View, view_of
from lancespace.views.refresh import Options, Refresh
from lancespace.views.sources import Source
from lancespace.views.state import read_state

if TYPE_CHECKING:
    import lance

    from lancespace.engines import Work

REFRESHED = "lancespace.view.sources"
"""What describe_table calls the versions of the sources that a view's rows were made from."""

_REFRESH = OPERATIONS["refresh_materialized_view"]
_POSITIVE = ("max_rows_per_fragment", "concurrency", "source_task_size", "output_limit")


class ViewOperations(ViewGuards):
    """create_materialized_view and refresh_materialized_view."""

    if TYPE_CHECKING:
        create_table: Callable[..., Any]

    @hookimpl
    def create_materialized_view(self, request: CreateMaterializedViewRequest) -> CreateMaterializedViewResponse:
        """Enter a view with the tables that it depends on, and write its definition; a refresh brings the rows."""
        definition = define(request)
        view = self._planned(request, definition)
        self._reserve_view(view, definition)
        dataset = self.locate(request).open()
        with translated(f"create the view {name_of(request)!r}"):
            dataset.update_metadata(definition.metadata)
        self.forget_automatic_views()
        job_id = self._start(view, Options()) if request.with_no_data is False else None
        return CreateMaterializedViewResponse(version=dataset.version, job_id=job_id)

    @hookimpl
    def refresh_materialized_view(self, request: RefreshMaterializedViewRequest) -> RefreshMaterializedViewResponse:
        """Start a job that brings a view up to date with its sources as they are now, or were at ``src_version``."""
        names = request.id or []
        view = view_of(names, self.describe_table(DescribeTableRequest(id=names)).properties)
        if view is None:
            raise InvalidInputError(f"The table {identifiers.show(names)!r} is not a materialized view.")
        return RefreshMaterializedViewResponse(job_id=self._start(view, _options(view, request), request.src_version))

    def refresh_now(self, view: View, work: Work) -> None:
        """Refresh a view from within a job, with its sources as they are at this moment."""
        self._run(view, self._refresh(view, Options()), work)

    def add_view_details(self, request: DescribeTableRequest, response: DescribeTableResponse) -> None:
        """If the table is a view, tell which versions of its sources it was made from."""
        if view_of(request.id or [], response.properties) is None:
            return
        dataset = self.locate(request).latest()
        state = None if dataset is None else read_state(dataset)
        if state is not None:
            response.metadata = {**(response.metadata or {}), REFRESHED: state.shown()}

    def _planned(self, request: CreateMaterializedViewRequest, definition: Definition) -> View:
        """The view with its sources, once the query, the schema and the function are known to go together."""

        def open_source(names: tuple[str, ...]) -> lance.LanceDataset:
            asked = DescribeTableRequest(id=list(names), identity=request.identity, context=request.context)
            self.connection.hooks.describe_table(request=asked)  # Wrappers may forbid it to this caller.
            return self.open(DescribeTableRequest(id=list(names)))

        self._check_query(definition)
        planned = queries.plan(definition.sql, open_source)
        if not planned.sources:
            raise InvalidInputError("source_query reads no table: there is nothing to keep a view of.")
        if definition.call is None:
            conform.check(definition.schema, planned.schema, "The query")
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
            self.create_table(CreateTableRequest(id=list(view.names), properties=view.properties), data)
        except TableAlreadyExistsError:
            request = DescribeTableRequest(id=list(view.names))
            if view_of(view.names, self.describe_table(request).properties) != view:
                raise
            dataset = self.open(request)
            if DEFINITION in dataset.metadata or not dataset.schema.equals(definition.schema):
                raise

    def _check_query(self, definition: Definition) -> None:
        """Refuse a query beyond the limits of the server, if this is one; it may have come with the table."""
        if self.connection.limits is not None:
            self.connection.limits.check_statement(definition.sql, "source_query")

    def _allow_function(self, name: str) -> None:
        """Refuse to run a function that came with a view, unless the connection trusts whoever made that."""
        if not self.connection.settings[UDF_PROPERTY.name]:
            raise PermissionDeniedError(
                f"The view {name!r} runs Python code that came with it, and this connection does not run such code: "
                f"connect with {UDF_PROPERTY.name}=true if you trust everybody who can create views in this catalog."
            )

    def _start(self, view: View, options: Options, version: int | None = None) -> str:
        refresh = self._refresh(view, options, version)
        self.connection.use_engine()
        about = identifiers.show(view.names)
        job = Job("refresh", about, lambda work: self._run(view, refresh, work), refresh.fingerprint())
        job_id: str = self.connection.hooks.submit_job(job=job)
        return job_id

    def _run(self, view: View, refresh: Refresh, work: Work) -> None:
        """Refresh a view with the rights of its creator, and have those follow that are made from it."""
        with acting(view.creator):
            request = RefreshMaterializedViewRequest(id=list(view.names))
            self.connection.hooks.check_access(operation=_REFRESH, request=request)
            for source in view.sources:
                self.check_read(source)
            if refresh.run(work):
                self.changed(view.names)

    def _refresh(self, view: View, options: Options, version: int | None = None) -> Refresh:
        """A refresh from the sources as they are now; from here on, it sees nothing else."""
        ref = self.locate(DescribeTableRequest(id=list(view.names)))
        dataset = ref.open()
        definition = stored(dataset.metadata, ref.name)
        self._check_query(definition)
        if definition.call is not None:
            self._allow_function(ref.name)
        sources = tuple(self._pinned(names, version) for names in view.sources)
        return Refresh(ref, definition, sources, options, dataset.version)

    def _pinned(self, names: tuple[str, ...], version: int | None) -> Source:
        ref = self.locate(DescribeTableRequest(id=list(names)))
        return Source(names, ref.location, ref.open(version).version, ref.storage_options)


def _options(view: View, request: RefreshMaterializedViewRequest) -> Options:
    for field in _POSITIVE:
        value = getattr(request, field)
        if value is not None and value < 1:
            raise InvalidInputError(f"refresh_materialized_view: {field} must be at least 1, not {value}.")
    for field in ("cluster", "manifest"):
        if getattr(request, field) is not None:
            raise UnsupportedOperationError(
                f"refresh_materialized_view: there is no {field} to choose, the engine of the connection does the work."
            )
    if request.output_limit is not None and view.kind != CHUNKER:
        raise InvalidInputError(f"output_limit is for views of kind {CHUNKER!r}, and this one is a {view.kind!r}.")
    if request.src_version is not None and len(view.sources) > 1:
        shown = ", ".join(identifiers.show(source) for source in view.sources)
        raise InvalidInputError(f"src_version is for a view of one table, and this one is made from {shown}.")
    return Options(
        concurrency=request.concurrency,
        rows_per_file=request.max_rows_per_fragment or Options.rows_per_file,
        batch_rows=request.source_task_size,
        output_limit=request.output_limit,
        is_exact=request.src_version is not None,
    )

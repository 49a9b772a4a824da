"""What views ask of other operations: nobody writes to a view or takes its sources away, and changes are noticed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from lance_namespace import (
    BatchCommitTablesRequest,
    CreateTableRequest,
    DescribeTableRequest,
    InvalidTableStateError,
    ListTablesRequest,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableNotFoundError,
    UnsupportedOperationError,
)

from lancespace import identifiers
from lancespace.backends.choices import CREATE_MODES, DROP_BEHAVIORS, choose
from lancespace.engines import Job
from lancespace.hookspecs import hookimpl
from lancespace.operations import OPERATIONS, Kind, Subject
from lancespace.principals import acting
from lancespace.tables.access import MAIN_BRANCH, TableAccess
from lancespace.views.auto import AutoRefresh
from lancespace.views.marks import SourceInUseError, View, view_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace.connection import Connection
    from lancespace.engines import JobStatus, Work

Names = tuple[str, ...]
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

_READ = OPERATIONS["describe_table"]
_KNOWN_FOR = 10.0
"""Seconds after which views that other connections made are looked for again."""


class ViewGuards(TableAccess):
    """Wrappers around operations on tables; calls within a backend pass them by."""

    guards_sources: ClassVar[bool] = False
    """Whether the backend refuses by itself, in one step with the change, to take away what views are made from."""

    if TYPE_CHECKING:
        list_all_tables: Callable[..., Any]
        _each: Callable[..., Iterator[str]]
        refresh_now: Callable[[View, Work], None]

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)  # type: ignore[call-arg]  # The next class of a backend is Backend.
        self.connection = connection
        self._looking = threading.Lock()
        self._automatic: list[View] = []
        self._looked_at = float("-inf")
        self._auto = AutoRefresh(
            self._refresh_automatically,
            self._submit,
            self._describe,
            threshold=connection.settings["views.threshold"],
            cooldown=connection.settings["views.cooldown"],
        )

    def views(self) -> list[View]:
        """All views of the catalog; override it where they are found without describing every table."""
        found = []
        for object_id in self._each("tables", self.list_all_tables, ListTablesRequest, []):
            names = identifiers.split(object_id)
            # Somebody may have dropped it meanwhile; and what cannot be read is an error for its own table only.
            with suppress(TableNotFoundError, NamespaceNotFoundError, InvalidTableStateError):
                found.append(view_of(names, self.describe_table(DescribeTableRequest(id=names)).properties))
        return [view for view in found if view is not None]

    def forget_automatic_views(self) -> None:
        """Have the next change look for the views that are to be refreshed with it."""
        with self._looking:
            self._looked_at = float("-inf")

    @hookimpl(wrapper=True, specname="drop_namespace")
    def keep_sources_of_outside_views(self, request: Any) -> Around:
        """A namespace that is dropped with its tables must not leave views without their sources elsewhere."""
        names = tuple(request.id or ())
        cascade = choose("behavior", request.behavior, DROP_BEHAVIORS) == "Cascade"
        with self._naming_visible_views():
            if cascade and not self.guards_sources:
                outside = [view for view in self.views() if view.names[: len(names)] != names]
                users = [v.names for v in outside if any(source[: len(names)] == names for source in v.sources)]
                if users:
                    raise SourceInUseError(names, users)
            return (yield)

    @hookimpl(wrapper=True, specname="batch_commit_tables")
    def keep_sources_in_batches(self, request: BatchCommitTablesRequest) -> Around:
        """A batch takes no source of a view away, as no single operation does."""
        with self._naming_visible_views():
            if not self.guards_sources:
                for operation in request.operations:
                    if operation.deregister_table is not None:
                        self._refuse_source(operation.deregister_table)
            return (yield)

    @hookimpl(tryfirst=True, specname="close")
    def finish_automatic_refreshes(self) -> None:
        """Before the engine stops its jobs: what this connection changed is in the views that follow it."""
        self._auto.finish()

    def _refuse_view(self, operation: str, request: BaseModel) -> None:
        """Refuse to write rows or columns of a view; a branch of one is a table like others."""
        names = getattr(request, "id", None) or []
        is_on_branch = getattr(request, "branch", None) not in {None, MAIN_BRANCH}
        if is_on_branch or (isinstance(request, CreateTableRequest) and not _overwrites(request)):
            return
        with suppress(TableNotFoundError, NamespaceNotFoundError):  # The operation itself says so.
            view = view_of(names, self.describe_table(DescribeTableRequest(id=names)).properties)
            if view is not None:
                raise UnsupportedOperationError(
                    f"{operation}: {identifiers.show(names)!r} is a materialized view, whose rows come from its query: "
                    "change its sources and refresh it."
                )

    def _refuse_source(self, request: BaseModel) -> None:
        names = tuple(getattr(request, "id", None) or ())
        users = [view.names for view in self.views() if names in view.sources]
        if users:
            raise SourceInUseError(names, users)

    @contextmanager
    def _naming_visible_views(self) -> Iterator[None]:
        """A refusal names only those views that the caller may read."""
        try:
            yield
        except SourceInUseError as error:
            visible = list(filter(self._may_read, error.views))
            is_complete = len(visible) == len(error.views)
            raise SourceInUseError(error.names, visible, is_complete=is_complete) from None

    def _may_read(self, names: Sequence[str]) -> bool:
        try:
            self.check_read(names)
        except PermissionDeniedError:
            return False
        return True

    def check_read(self, names: Sequence[str]) -> None:
        """Raise PermissionDeniedError if the current principal may not read a table."""
        self.connection.hooks.check_access(operation=_READ, request=DescribeTableRequest(id=list(names)))

    def changed(self, names: Names) -> None:
        """A table has changed: have the views that follow it refreshed."""
        for view in self._automatic_views():
            if names in view.sources:
                with acting(view.creator):  # The refresh is not the doing of whoever has changed the source.
                    self._auto.changed(view.names)

    def _automatic_views(self) -> list[View]:
        with self._looking:
            if time.monotonic() - self._looked_at > _KNOWN_FOR:
                self._automatic = [view for view in self.views() if view.auto_refresh]
                self._looked_at = time.monotonic()
            return self._automatic

    def _refresh_automatically(self, names: Names, work: Work) -> None:
        with suppress(TableNotFoundError, NamespaceNotFoundError):  # The view was dropped.
            view = view_of(names, self.describe_table(DescribeTableRequest(id=list(names))).properties)
            if view is not None:
                self.refresh_now(view, work)

    def _submit(self, job: Job) -> str:
        self.connection.use_engine()
        job_id: str = self.connection.hooks.submit_job(job=job)
        return job_id

    def _describe(self, job_id: str) -> JobStatus | None:
        status: JobStatus | None = self.connection.hooks.describe_job(job_id=job_id)
        return status


def _overwrites(request: CreateTableRequest) -> bool:
    return choose("mode", request.mode, CREATE_MODES) == "Overwrite"


def _around_change(operation: str, *, of_rows: bool) -> Callable[..., Around]:
    def around(self: ViewGuards, request: BaseModel) -> Around:
        if of_rows:
            self._refuse_view(operation, request)
        answer = yield
        self.changed(tuple(getattr(request, "id", None) or ()))
        return answer

    return hookimpl(wrapper=True, specname=operation)(around)


def _around_removal(operation: str) -> Callable[..., Around]:
    def around(self: ViewGuards, request: BaseModel) -> Around:
        with self._naming_visible_views():
            if not self.guards_sources:
                self._refuse_source(request)
            return (yield)

    return hookimpl(wrapper=True, specname=operation)(around)


for _name in (*WRITES, *COMMITS):
    setattr(ViewGuards, f"notice_{_name}", _around_change(_name, of_rows=_name in WRITES))
for _name in TAKE_AWAY:
    setattr(ViewGuards, f"guard_{_name}", _around_removal(_name))

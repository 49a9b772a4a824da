"""The views of a catalog: finding them, and what nobody may do to them and their sources."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from lance_namespace import (
    CreateTableRequest,
    DescribeTableRequest,
    InvalidInputError,
    InvalidTableStateError,
    ListTablesRequest,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from pydantic import BaseModel

from lancespace.authoring import CREATE_MODES, OPERATIONS, Connection, choose, identifiers, pages
from lancespace_tables import MAIN_BRANCH, SourceInUseError, TableBackend, View, view_of

_KNOWN_FOR = 10.0
"""Seconds after which views that other connections made are looked for again."""

_READ = OPERATIONS["describe_table"]


class ViewCatalog:
    """The views of a connection's catalog. Calls of the backend bypass wrappers."""

    def __init__(self, connection: Connection) -> None:
        if not isinstance(connection.backend, TableBackend):
            raise InvalidInputError("The wrapper 'views' needs a backend that opens tables itself.")
        self.backend: TableBackend = connection.backend
        self._connection = connection
        self._looking = threading.Lock()
        self._automatic: list[View] = []
        self._looked_at = float("-inf")

    def all(self) -> list[View]:
        """All views."""
        known = self.backend.views()
        if known is not None:
            return known
        found = []
        for page in pages(
            lambda token: self.backend.operation("list_all_tables")(ListTablesRequest(id=[], page_token=token))
        ):
            for names in map(identifiers.split, page.tables):
                # It may have been dropped meanwhile; and what cannot be read is an error for its own table only.
                with suppress(TableNotFoundError, NamespaceNotFoundError, InvalidTableStateError):
                    found.append(self.find(names))
        return [view for view in found if view is not None]

    def automatic(self) -> list[View]:
        """The views that are refreshed when their sources change, as they were a few seconds ago at most."""
        with self._looking:
            if time.monotonic() - self._looked_at > _KNOWN_FOR:
                self._automatic = [view for view in self.all() if view.auto_refresh]
                self._looked_at = time.monotonic()
            return self._automatic

    def forget_automatic(self) -> None:
        """Have the next change look for the views that are refreshed with it."""
        with self._looking:
            self._looked_at = float("-inf")

    def find(self, names: Sequence[str]) -> View | None:
        """The view of this name; None if it is another table."""
        described = self.backend.describe_table(DescribeTableRequest(id=list(names)))
        return view_of(names, described.properties)

    def check_read(self, names: Sequence[str]) -> None:
        """Raise PermissionDeniedError if the current principal may not read a table."""
        self._connection.hooks.check_access(operation=_READ, request=DescribeTableRequest(id=list(names)))

    def refuse_write(self, operation: str, request: BaseModel) -> None:
        """Refuse to write rows or columns of a view; a branch of one is a table like others."""
        names = getattr(request, "id", None) or []
        is_on_branch = getattr(request, "branch", None) not in {None, MAIN_BRANCH}
        if is_on_branch or (isinstance(request, CreateTableRequest) and not _overwrites(request)):
            return
        with suppress(TableNotFoundError, NamespaceNotFoundError):  # The operation itself says so.
            if self.find(names) is not None:
                raise UnsupportedOperationError(
                    f"{operation}: {identifiers.show(names)!r} is a materialized view, whose rows come from its query: "
                    "change its sources and refresh it."
                )

    def refuse_removal(self, request: BaseModel) -> None:
        """Refuse to take away a table that views are made from."""
        names = tuple(getattr(request, "id", None) or ())
        users = [view.names for view in self.all() if names in view.sources]
        if users:
            raise SourceInUseError(names, users)

    def refuse_cascade(self, names: tuple[str, ...]) -> None:
        """Refuse to drop a namespace with the sources of views that are elsewhere."""
        outside = [view for view in self.all() if view.names[: len(names)] != names]
        users = [view.names for view in outside if any(source[: len(names)] == names for source in view.sources)]
        if users:
            raise SourceInUseError(names, users)

    @contextmanager
    def naming_visible(self) -> Iterator[None]:
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


def _overwrites(request: CreateTableRequest) -> bool:
    return choose("mode", request.mode, CREATE_MODES) == "Overwrite"

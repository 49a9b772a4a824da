"""Catalog operations that follow from the eight basic ones.

A drop leaves a claim in the directory of the table and then looks for other tables that have the files.
``register_table`` enters a table and then looks for a claim. So at least one of the two sees the other.
"""

from __future__ import annotations

import errno
import logging
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    DropNamespaceResponse,
    DropTableRequest,
    DropTableResponse,
    InternalError,
    InvalidTableStateError,
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

from lancespace.authoring import (
    DROP_BEHAVIORS,
    DROP_MODES,
    Storage,
    choose,
    hookimpl,
    identifiers,
    overlap,
    pages,
    paginate,
)
from lancespace_tables._access import OperationGroup

if TYPE_CHECKING:
    from lancespace_tables._backend import TableBackend


_log = logging.getLogger(__name__)

_CLAIM = ".lance-deleting-"
"""Begins the names of claims: marks in the directories of tables whose files are being deleted."""


class CatalogOperations(OperationGroup):
    """Existence, dropping and recursive listing, by way of the basic operations."""

    @hookimpl
    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        """Answer, or raise NamespaceNotFoundError."""
        self.backend.describe_namespace(DescribeNamespaceRequest(id=request.id))
        return NamespaceExistsResponse()

    @hookimpl
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Answer, or raise TableNotFoundError."""
        if request.version is None:
            self.backend.describe_table(DescribeTableRequest(id=request.id))
        else:
            self.backend.open(request)
        return TableExistsResponse()

    @hookimpl
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """Every table of the catalog by its joined identifier."""
        found = sorted(identifiers.join(names) for names in _walk(self.backend, [], request.include_declared))
        tables, token = paginate(found, request.page_token, request.limit)
        return ListTablesResponse(tables=tables, page_token=token)

    @hookimpl
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Take the name out, then delete the data: a crash between leaves unreachable files, never half a table.

        The data of the entry that was taken out is deleted: the table may have been dropped and created again since it
        was located.
        """
        ref = self.backend.locate(request)
        gone = self.backend.deregister_table(DeregisterTableRequest(id=request.id))
        if gone.location is None:
            raise InternalError(
                f"The table {ref.name!r} was deregistered and its files were kept: the backend's deregister_table must "
                "answer the location of the entry that it took out."
            )
        storage = self.backend.storage_for(replace(ref, location=gone.location))
        self._delete_data(storage, ref.name)
        return DropTableResponse(id=request.id, location=gone.location, properties=gone.properties)

    @hookimpl(wrapper=True, specname="drop_namespace")
    def empty_before_cascade(
        self, request: DropNamespaceRequest
    ) -> Generator[None, DropNamespaceResponse, DropNamespaceResponse]:
        """With the behavior Cascade, drop the contents first, leaves before branches, so that a repeat can go on."""
        behavior = choose("behavior", request.behavior, DROP_BEHAVIORS)
        choose("mode", request.mode, DROP_MODES)
        if (
            behavior == "Cascade"
            and not self.backend.cascades_itself
            and request.id
            and self._has_namespace(request.id)
        ):
            self._drop_contents(request.id)
        return (yield)

    def _drop_contents(self, names: list[str]) -> None:
        """Drop what is in a namespace; another caller may be dropping the same."""
        with suppress(NamespaceNotFoundError):
            for table in list(_each("tables", self.backend.list_tables, ListTablesRequest, names)):
                with suppress(TableNotFoundError):
                    self.backend.operation("drop_table")(DropTableRequest(id=[*names, table]))
            for child in list(_each("namespaces", self.backend.list_namespaces, ListNamespacesRequest, names)):
                self._drop_contents([*names, child])
                self.backend.drop_namespace(DropNamespaceRequest(id=[*names, child], mode="Skip"))

    def _delete_data(self, storage: Storage, name: str) -> None:
        """Delete what a dropped table leaves; a writer that began before may still add files, which nobody reads."""
        try:
            delete_unless(storage, lambda: self._is_used(storage, name))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            _log.warning("The table %r was written to while it was dropped; files may be left in storage", name)

    def _is_used(self, storage: Storage, name: str) -> bool:
        users = [identifiers.show(names) for names in users_of(self.backend, storage)]
        if users:
            _log.warning("The files of the dropped table %r are kept: they belong to %s, too", name, users)
        return bool(users)

    def _has_namespace(self, names: list[str]) -> bool:
        try:
            self.backend.describe_namespace(DescribeNamespaceRequest(id=names))
        except NamespaceNotFoundError:
            return False
        return True


def _walk(backend: TableBackend, names: list[str], include_declared: bool | None = None) -> Iterator[list[str]]:
    """The tables below a namespace; a namespace that is dropped meanwhile has none."""
    asked = {"include_declared": include_declared}
    with suppress(NamespaceNotFoundError):
        for table in _each("tables", backend.list_tables, ListTablesRequest, names, **asked):
            yield [*names, table]
        for child in _each("namespaces", backend.list_namespaces, ListNamespacesRequest, names):
            yield from _walk(backend, [*names, child], include_declared)


def users_of(backend: TableBackend, storage: Storage) -> list[list[str]]:
    """The tables whose location is this one, contains it or lies inside it."""
    users = []
    for names in _walk(backend, []):
        with suppress(TableNotFoundError, NamespaceNotFoundError):  # It was dropped meanwhile.
            location = backend.describe_table(DescribeTableRequest(id=names)).location or ""
            if overlap(storage, backend.connection.storage(location)):
                users.append(names)
    return users


def _each(
    field: str, listing: Callable[..., Any], model: Callable[..., Any], names: list[str], **asked: object
) -> Iterator[str]:
    """All names of a listing, page after page."""
    for page in pages(lambda token: listing(model(id=names, page_token=token, **asked))):
        yield from getattr(page, field)


def delete_unless(storage: Storage, is_used: Callable[[], bool]) -> None:
    """Delete all files of a location, unless a table that was registered before the claim has them, too."""
    folder = storage.path()
    claim = f"{folder}/{_CLAIM}{uuid.uuid4().hex}"
    storage.put_if_absent(claim, b"")
    stays = True
    try:
        stays = is_used()
    finally:
        if stays:
            storage.delete_files([claim])
    if not stays:
        storage.delete_tree(folder, last=claim)


def need_unclaimed(storage: Storage, name: str) -> None:
    """Refuse a location whose files are being deleted.

    Raises:
        InvalidTableStateError: There is a claim.
    """
    try:
        found = storage.filesystem.ls(storage.path(), detail=False)
    except FileNotFoundError:
        return
    if any(str(path).rpartition("/")[2].startswith(_CLAIM) for path in found):
        raise InvalidTableStateError(
            f"The table {name!r} cannot be registered at {storage.location!r}: a drop is deleting the files there. "
            f"If that was interrupted, delete '{_CLAIM}*' there to keep the files. If the name is in the catalog "
            "now, drop or deregister it."
        )

"""Operations that change a table's entry in the catalog, beyond entering one and taking one out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lance_namespace import (
    ConcurrentModificationError,
    DeclareTableRequest,
    DescribeTableRequest,
    InvalidInputError,
    RegisterTableRequest,
    RegisterTableResponse,
    RenameTableRequest,
    RenameTableResponse,
    TableNotFoundError,
    UnsupportedOperationError,
)

from lancespace.authoring import OPERATIONS, REGISTER_MODES, choose, hookimpl, identifiers, location_taken, table_exists
from lancespace_tables._access import OperationGroup, TableLocation
from lancespace_tables._catalog import need_unclaimed, users_of

if TYPE_CHECKING:
    from lancespace_tables._backend import TableBackend


_MERGE_TRIES = 10


@dataclass(frozen=True)
class TableEntry:
    """What a catalog keeps of a table."""

    id: tuple[str, ...]
    location: str
    properties: Mapping[str, str] = field(default_factory=dict)

    def check(self, location: str, properties: Mapping[str, str]) -> None:
        """Compare with what the catalog has under this name now.

        Raises:
            ConcurrentModificationError: It is something else.
        """
        if (location, properties) != (self.location, self.properties):
            raise ConcurrentModificationError(
                f"The table {identifiers.show(self.id)!r} was changed by another caller at the same time: try again."
            )


class EntryOperations(OperationGroup):
    """register_table; and what needs a catalog that can replace an entry in one step.

    Two steps would not do: a caller that is killed between them, or that meets another one there, leaves a table with
    two names or with none.
    """

    @hookimpl
    def supported_operations(self) -> Collection[str] | None:
        """All that is implemented, less ``rename_table`` where an entry cannot be replaced."""
        return (
            None
            if self.backend.has_own("replace_entry") or hasattr(self.backend, "rename_table")
            else OPERATIONS.keys() - {"rename_table"}
        )

    @hookimpl
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Replace the entry by one of the new name; the data stays where it is."""
        names = request.id or []
        parent = names[:-1] if request.new_namespace_id is None else request.new_namespace_id
        target = tuple(identifiers.parse([*parent, request.new_table_name]))
        old = entry_of(self.backend, names)
        if target == old.id:
            raise table_exists(names, "this is its name")
        self.backend.replace_entry(old, replace(old, id=target))
        return RenameTableResponse()

    @hookimpl
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Enter a name for a table that is already in storage; with mode Overwrite, in the place of another one."""
        mode = choose("mode", request.mode, REGISTER_MODES)
        names, storage = tuple(request.id or ()), self.backend.connection.storage(request.location)
        if not TableLocation(names, request.location, storage.options).exists():
            raise InvalidInputError(
                f"There is no Lance table at {request.location!r}: create it first, or declare_table."
            )
        need_unclaimed(storage, identifiers.show(names))
        other = next((user for user in users_of(self.backend, storage) if tuple(user) != names), None)
        if other is not None:
            raise location_taken(request.location, other)
        response = self._register_entry(request, overwrite=mode == "Overwrite")
        need_unclaimed(storage, identifiers.show(names))
        return response

    def _register_entry(self, request: RegisterTableRequest, *, overwrite: bool) -> RegisterTableResponse:
        names, location = tuple(request.id or ()), request.location
        if overwrite:
            try:
                old = entry_of(self.backend, names)
            except TableNotFoundError:
                pass
            else:
                self.backend.replace_entry(old, TableEntry(names, location, request.properties or {}))
                return RegisterTableResponse(location=location, properties=request.properties or {})
        declared = self.backend.declare_table(
            DeclareTableRequest(id=request.id, location=location, properties=request.properties)
        )
        return RegisterTableResponse(location=declared.location, properties=declared.properties)


def entry_of(backend: TableBackend, names: Sequence[str]) -> TableEntry:
    """What the catalog keeps of a table now."""
    described = backend.describe_table(DescribeTableRequest(id=list(names), vend_credentials=False))
    return TableEntry(tuple(names), described.location or "", described.properties or {})


def replaceable(backend: TableBackend, ref: TableLocation, properties: Mapping[str, str]) -> TableEntry:
    """The entry of a table that is to be overwritten and get other properties, read before any data is written.

    Raises:
        UnsupportedOperationError: The catalog cannot replace the entry.
    """
    backend.check_properties(ref, properties)
    old = entry_of(backend, ref.id)
    old.check(ref.location, old.properties)
    if old.properties != properties and not (backend.has_own("replace_entry") or backend.has_own("replace_properties")):
        raise UnsupportedOperationError(
            f"This catalog cannot change the properties of the table {ref.name!r}: leave out 'properties', or drop "
            "the table and create it again."
        )
    return old


def mergeable(backend: TableBackend, ref: TableLocation, properties: Mapping[str, str]) -> TableEntry:
    """The entry of a table that was declared and is to be created with more properties.

    Raises:
        UnsupportedOperationError: The catalog cannot replace the entry.
    """
    return replaceable(backend, ref, {**entry_of(backend, ref.id).properties, **properties})


def merge_properties(backend: TableBackend, old: TableEntry, properties: Mapping[str, str]) -> None:
    """Have the catalog keep more properties of a table, which was created; of two with one name the new one counts.

    Raises:
        ConcurrentModificationError: The table was dropped meanwhile, or others keep changing its entry.
    """
    for _ in range(_MERGE_TRIES):
        try:
            backend.replace_properties(old, {**old.properties, **properties})
        except ConcurrentModificationError:
            now = entry_of(backend, old.id)
            now.check(old.location, now.properties)
            old = now
        else:
            return
    raise ConcurrentModificationError(
        f"The table {identifiers.show(old.id)!r} was created, and its properties were not set, because other "
        "callers kept changing them: create the table again with mode 'overwrite'."
    )

"""Operations that change a table's entry in the catalog, beyond entering one and taking one out."""

from __future__ import annotations

from collections.abc import Mapping
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

from lancespace import identifiers
from lancespace.backends import claims
from lancespace.backends.choices import REGISTER_MODES, choose
from lancespace.backends.messages import table_exists
from lancespace.hookspecs import hookimpl
from lancespace.operations import OPERATIONS
from lancespace.storage.locations import location_taken
from lancespace.tables.access import TableAccess, TableRef

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from lancespace.connection import Connection
    from lancespace.storage import Storage


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


class EntryOperations(TableAccess):
    """register_table; and what needs a catalog that can replace an entry in one step.

    Two steps would not do: a caller that is killed between them, or that meets another one there, leaves a table with
    two names or with none.
    """

    if TYPE_CHECKING:
        connection: Connection
        declare_table: Callable[..., Any]
        users_of: Callable[[Storage], list[list[str]]]

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

    @hookimpl
    def supported_operations(self) -> Collection[str] | None:
        """All that is implemented, less ``rename_table`` where an entry cannot be replaced."""
        return None if self._overrides("replace_entry", "rename_table") else OPERATIONS.keys() - {"rename_table"}

    @hookimpl
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Replace the entry by one of the new name; the data stays where it is."""
        names = request.id or []
        parent = names[:-1] if request.new_namespace_id is None else request.new_namespace_id
        target = tuple(identifiers.parse([*parent, request.new_table_name]))
        old = self._entry(names)
        if target == old.id:
            raise table_exists(names, "this is its name")
        self.replace_entry(old, replace(old, id=target))
        return RenameTableResponse()

    @hookimpl
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Enter a name for a table that is already in storage; with mode Overwrite, in the place of another one."""
        mode = choose("mode", request.mode, REGISTER_MODES)
        names, storage = tuple(request.id or ()), self.connection.storage(request.location)
        if not TableRef(names, request.location, storage.options).exists():
            raise InvalidInputError(
                f"There is no Lance table at {request.location!r}: create it first, or declare_table."
            )
        claims.need_unclaimed(storage, identifiers.show(names))
        other = next((user for user in self.users_of(storage) if tuple(user) != names), None)
        if other is not None:
            raise location_taken(request.location, other)
        response = self._register_entry(request, overwrite=mode == "Overwrite")
        claims.need_unclaimed(storage, identifiers.show(names))
        return response

    def _register_entry(self, request: RegisterTableRequest, *, overwrite: bool) -> RegisterTableResponse:
        names, location = tuple(request.id or ()), request.location
        if overwrite:
            try:
                old = self._entry(names)
            except TableNotFoundError:
                pass
            else:
                self.replace_entry(old, TableEntry(names, location, request.properties or {}))
                return RegisterTableResponse(location=location, properties=request.properties or {})
        declared = self.declare_table(
            DeclareTableRequest(id=request.id, location=location, properties=request.properties)
        )
        return RegisterTableResponse(location=declared.location, properties=declared.properties)

    def replaceable(self, ref: TableRef, properties: Mapping[str, str]) -> TableEntry:
        """The entry of a table that is to be overwritten and get other properties, read before any data is written.

        Raises:
            UnsupportedOperationError: The catalog cannot replace the entry.
        """
        old = self._entry(ref.id)
        old.check(ref.location, old.properties)
        if old.properties != properties and not self._overrides("replace_entry", "replace_properties"):
            raise UnsupportedOperationError(
                f"This catalog cannot change the properties of the table {ref.name!r}: leave out 'properties', or drop "
                "the table and create it again."
            )
        return old

    def mergeable(self, ref: TableRef, properties: Mapping[str, str]) -> TableEntry:
        """The entry of a table that was declared and is to be created with more properties.

        Raises:
            UnsupportedOperationError: The catalog cannot replace the entry.
        """
        return self.replaceable(ref, {**self._entry(ref.id).properties, **properties})

    def merge_properties(self, old: TableEntry, properties: Mapping[str, str]) -> None:
        """Have the catalog keep more properties of a table, which was created; of two with one name the new one counts.

        Raises:
            ConcurrentModificationError: The table was dropped meanwhile, or others keep changing its entry.
        """
        for _ in range(_MERGE_TRIES):
            try:
                self.replace_properties(old, {**old.properties, **properties})
            except ConcurrentModificationError:
                now = self._entry(old.id)
                now.check(old.location, now.properties)
                old = now
            else:
                return
        raise ConcurrentModificationError(
            f"The table {identifiers.show(old.id)!r} was created, and its properties were not set, because other "
            "callers kept changing them: create the table again with mode 'overwrite'."
        )

    def replace_properties(self, old: TableEntry, properties: Mapping[str, str]) -> None:
        """Have the catalog keep other properties of a table, which was overwritten."""
        if old.properties != properties:
            self.replace_entry(old, replace(old, properties=properties))

    def _entry(self, names: list[str] | tuple[str, ...]) -> TableEntry:
        described = self.describe_table(DescribeTableRequest(id=list(names), vend_credentials=False))
        return TableEntry(tuple(names), described.location, described.properties or {})

    def _overrides(self, *names: str) -> bool:
        return any(getattr(type(self), name) is not getattr(EntryOperations, name) for name in names)

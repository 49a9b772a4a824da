"""create_table, from declare_table and the Lance SDK.

``lance.write_dataset(mode="create")`` is no lock: several concurrent callers can all succeed, the later ones as an
overwrite. So the name is reserved in the catalog first, the data files are written, and the first version is
committed with put-if-absent and no retries. Of several creators of one table exactly one wins, and no reader sees
anything before that.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from lance_namespace import (
    ConcurrentModificationError,
    CreateTableRequest,
    CreateTableResponse,
    DeclareTableResponse,
    DescribeTableRequest,
    InternalError,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableVersionNotFoundError,
)

from lancespace.authoring import (
    CREATE_MODES,
    ArrowData,
    Storage,
    choose,
    hookimpl,
    identifiers,
    marks,
    message,
    table_exists,
    translate,
    translated,
)
from lancespace_tables._access import OperationGroup, TableLocation
from lancespace_tables._entries import merge_properties, mergeable, replaceable
from lancespace_tables._layouts import to_storable

if TYPE_CHECKING:
    from lancespace_tables._backend import TableBackend


_DROPPED = (ConcurrentModificationError, TableNotFoundError)
"""The errors after which a table that was declared is not there any more, or another one is."""

STORAGE_VERSION = "new_table_data_storage_version"
"""The storage option, LanceDB's too, that says in which version of the file format a new table is written."""


class CreationOperations(OperationGroup):
    """Creating tables with data."""

    @hookimpl
    def create_table(self, request: CreateTableRequest, data: ArrowData) -> CreateTableResponse:
        """Create a table with its first data, in the mode Create, ExistOk or Overwrite.

        A failure after the name was reserved leaves the table declared, and the create can be repeated. Taking the name
        back would not be safe: another caller may have created the declared table meanwhile.
        """
        mode = choose("mode", request.mode, CREATE_MODES)
        reader = _checked(data.reader())
        try:
            return self._create_table(request, reader, mode)
        except TableNotFoundError as error:
            raise ConcurrentModificationError(
                f"The table {identifiers.show(request.id or [])!r} was dropped by another caller while it was created: "
                "create it again."
            ) from error

    def _create_table(
        self, request: CreateTableRequest, reader: pa.RecordBatchReader, mode: str
    ) -> CreateTableResponse:
        ref, declared = self._reserve(request)
        if declared is None and ref.exists():
            return self._on_existing(request, ref, reader, mode)
        entry = mergeable(self.backend, ref, request.properties) if declared is None and request.properties else None
        try:
            version = _write_first_version(self.backend, request, ref, reader)
        except TableAlreadyExistsError as error:
            if mode == "Overwrite":
                raise ConcurrentModificationError(f"{error} Send it again to overwrite that.") from error
            if mode == "Create":
                raise
            version = ref.open().version
        except _DROPPED:
            raise
        except LanceNamespaceError as error:
            if declared is None:
                raise
            remedy = f"The name {ref.name!r} stays declared: create the table again, or drop it."
            raise type(error)(f"{str(error).rstrip('.')}. {remedy}") from error
        else:
            if entry is not None and request.properties:
                merge_properties(self.backend, entry, request.properties)
        return self._created(request, ref, version, declared)

    def _reserve(self, request: CreateTableRequest) -> tuple[TableLocation, DeclareTableResponse | None]:
        """The table's place, and what the catalog answered if this call entered the table into it."""
        try:
            return self.backend.declare_for_data(request)
        except TableAlreadyExistsError as taken:
            try:
                return self.backend.locate(request), None
            except TableNotFoundError:
                raise taken from None  # The name is a namespace's.

    def _on_existing(
        self, request: CreateTableRequest, ref: TableLocation, reader: pa.RecordBatchReader, mode: str
    ) -> CreateTableResponse:
        if mode == "Create":
            raise table_exists(request.id or [], "choose another name, or the mode 'exist_ok' or 'overwrite'")
        if mode == "ExistOk":
            return self._created(request, ref, ref.open().version)

        self.backend.check_overwrite(ref)
        entry = None if request.properties is None else replaceable(self.backend, ref, request.properties)

        target = ref.location if ref.versions is None else ref.open()
        with translated(f"overwrite table {ref.name!r}"):
            dataset = lance.write_dataset(
                reader, target, mode="overwrite", transaction_properties=marks(), **_write_options(ref, request)
            )
        if entry is not None and request.properties is not None:
            self.backend.replace_properties(entry, request.properties)
        return self._created(request, ref, dataset.version)

    def _created(
        self,
        request: CreateTableRequest,
        ref: TableLocation,
        version: int,
        declared: DeclareTableResponse | None = None,
    ) -> CreateTableResponse:
        known = declared or self.backend.describe_table(DescribeTableRequest(id=request.id))
        return CreateTableResponse(
            location=ref.location,
            version=version,
            storage_options=known.storage_options,
            properties=known.properties,
        )


def create_declared(backend: TableBackend, ref: TableLocation, reader: pa.RecordBatchReader) -> int:
    """Write the first version of a table that was declared; one that was dropped since must not come back."""
    request = CreateTableRequest(id=list(ref.id))
    checked = _checked(reader)
    backend.locate(request)
    return _write_first_version(backend, request, ref, checked)


def _write_first_version(
    backend: TableBackend, request: CreateTableRequest, ref: TableLocation, reader: pa.RecordBatchReader
) -> int:
    try:
        version = _commit(backend, request, ref, _write_files(ref, reader, request))
    except TableVersionNotFoundError as error:  # Lance saw a version, which was gone when it was read.
        raise TableNotFoundError(f"The table {ref.name!r} was created and dropped by another caller.") from error
    if backend.locate(request).location != ref.location:
        raise ConcurrentModificationError(
            f"The table {ref.name!r} was dropped and declared again by another caller while it was created: "
            "send the data again."
        )
    return version


def _commit(backend: TableBackend, request: CreateTableRequest, ref: TableLocation, written: Any) -> int:
    try:
        return _commit_first_version(ref, written)
    except TableAlreadyExistsError:
        _delete_files(backend.storage_for(ref), ref, written.operation.fragments)
        raise
    except (ConcurrentModificationError, InternalError):
        backend.locate(request)  # If the table was dropped meanwhile, that error says more.
        raise


def _delete_files(storage: Storage, ref: TableLocation, fragments: list[Any]) -> None:
    """Remove the data files of a creator that lost, unless a drop of the table did; their names are its own."""
    for file in (file for fragment in fragments for file in fragment.files):
        with suppress(FileNotFoundError):
            storage.filesystem.rm_file(storage.path(f"{ref.location}/data/{file.path}"))


def _checked(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same data, after a look at its schema and first batch: most bad input is found before anything changes."""
    reader = to_storable(reader)
    with translated("create table"):
        lance.schema.LanceSchema.from_pyarrow(reader.schema)
    batches = iter(reader)
    with translated("create table"):
        first = next(batches, None)
    return pa.RecordBatchReader.from_batches(reader.schema, itertools.chain([] if first is None else [first], batches))


def _write_files(ref: TableLocation, reader: pa.RecordBatchReader, request: CreateTableRequest) -> Any:
    """Write the data files, which nobody sees yet, and answer the transaction that makes a table of them."""
    with translated(f"create table {ref.name!r}"):
        return lance.fragment.write_fragments(
            reader,
            ref.location,
            schema=reader.schema,
            return_transaction=True,
            mode="create",
            **_write_options(ref, request),
        )


def _write_options(ref: TableLocation, request: CreateTableRequest) -> dict[str, Any]:
    options = {**ref.storage_options, **(request.storage_options or {})}
    return {"data_storage_version": options.pop(STORAGE_VERSION, None), "storage_options": options}


def _commit_first_version(ref: TableLocation, transaction: Any) -> int:
    """Make the files version 1 of the table, or fail because it has one already.

    Raises:
        TableAlreadyExistsError: If the table got its first version meanwhile; it is unharmed.
        TableVersionNotFoundError: If it got one and was dropped with it meanwhile.
    """
    # Given the operation alone, Lance first looks whether there is a table, which the catalog must be asked for.
    change = transaction if ref.versions is None else transaction.operation
    transaction.transaction_properties = marks(
        num_inserted_rows=sum(fragment.physical_rows for fragment in transaction.operation.fragments)
    )
    try:
        created = lance.LanceDataset.commit(
            ref.location,
            change,
            storage_options=dict(ref.storage_options),
            max_retries=0,
            commit_message=None if ref.versions is None else message(),
            **ref.committing(),
        )
    except OSError as error:
        if not ref.exists():
            raise translate(error, about=f"create table {ref.name!r}") from error
        raise table_exists(ref.id, "another writer created it at the same time") from error
    version: int = created.version
    return version

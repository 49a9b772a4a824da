"""A catalog of one dict, with every table operation beside it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import (
    DeclareTableResponse,
    DeregisterTableResponse,
    DescribeTableResponse,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

from lancespace._storage.local import LocalStorage
from lancespace.authoring import OPERATIONS, ArrowData, hookimpl, model
from lancespace_tables._access import TableAccess
from lancespace_tables._backend import GROUPS
from lancespace_tables._commits import StoredVersions


class LocalFiles:
    """The part of lancespace._storage.Storage that the table operations use."""

    def __init__(self) -> None:
        self.filesystem = LocalStorage().filesystem(options={})

    def path(self, location: str) -> str:
        return str(self.filesystem._strip_protocol(location))

    def put_if_absent(self, path: str, data: bytes, *, unique: bool = False) -> None:  # noqa: ARG002 - as Storage's
        if not LocalStorage().put_if_absent(path, data):
            raise FileExistsError(path)


class TinyBackend(TableAccess):
    """The root namespace and one namespace called ``ns``."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.tables: dict[tuple[str, ...], str] = {}
        self.groups = tuple(group(self) for group in GROUPS)  # type: ignore[arg-type] # It is no plugin.

    @hookimpl
    def declare_table(self, request: Any) -> Any:
        names = tuple(request.id)
        if names in self.tables:
            raise TableAlreadyExistsError("it is there")
        self.tables[names] = f"{self.root}/{'_'.join(names)}.lance"
        return DeclareTableResponse(location=self.tables[names])

    @hookimpl
    def deregister_table(self, request: Any) -> Any:
        return DeregisterTableResponse(location=self.tables.pop(tuple(request.id)))

    @hookimpl
    def describe_table(self, request: Any) -> Any:
        names = tuple(request.id)
        if names[:-1] not in {(), ("ns",)}:
            raise NamespaceNotFoundError(f"no namespace {names[:-1]}")
        if names not in self.tables:
            raise TableNotFoundError(f"no table {names}")
        return DescribeTableResponse(location=self.tables[names], storage_options={})

    def storage_for(self, _ref: Any) -> Any:
        return LocalFiles()

    def versions_of(self, ref: Any, branch: str | None) -> StoredVersions:
        return StoredVersions(ref, branch, self.storage_for(ref))

    def call(self, operation: str, data: Any = None, **fields: Any) -> Any:
        """Call an operation as the framework would: with the request's model, and data wrapped."""
        fields.setdefault("id", ["t"])
        request = model(OPERATIONS[operation].request).model_validate(fields)
        extra = {"data": ArrowData(data)} if OPERATIONS[operation].takes_data else {}
        return self.operation(operation)(request=request, **extra)

    def query(self, **fields: Any) -> pa.Table:
        fields.setdefault("vector", {})
        fields.setdefault("k", 10)
        return self.call("query_table", **fields).read_all()

    def rows(self, **fields: Any) -> list[dict[str, Any]]:
        """All rows of the table, as a person would read them."""
        rows: list[dict[str, Any]] = self.query(k=100_000, **fields).to_pylist()
        return rows


@pytest.fixture
def backend(tmp_path):
    return TinyBackend(str(tmp_path))


@pytest.fixture
def people(backend):
    """A backend with the table ``t``: three rows at version 1."""
    backend.call("create_table", pa.table({"id": [1, 2, 3], "name": ["ann", "bob", "cy"]}))
    return backend


@pytest.fixture
def branched(people):
    """``people`` with a branch ``dev`` that has one row more, at version 2."""
    people.call("create_table_branch", name="dev")
    people.call("insert_into_table", pa.table({"id": [4], "name": ["dev"]}), branch="dev")
    return people


@pytest.fixture
def vectors(backend):
    """A backend with the table ``t``: 64 rows with a number, a text and a vector ``[n, 0, 0, 0]``."""
    count = 64
    vector = pa.array([[float(n), 0.0, 0.0, 0.0] for n in range(count)], pa.list_(pa.float32(), 4))
    text = [f"{'even' if n % 2 == 0 else 'odd'} number n{n}" for n in range(count)]
    backend.call("create_table", pa.table({"n": range(count), "text": text, "vector": vector}))
    return backend

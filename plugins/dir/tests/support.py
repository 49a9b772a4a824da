"""What the tests share: both implementations of the directory catalog on one root, and a look behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import lance.namespace
from lance_namespace import (
    CreateNamespaceRequest,
    CreateTableRequest,
    DeclareTableRequest,
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    DropTableRequest,
    LanceNamespace,
    LanceNamespaceError,
    ListNamespacesRequest,
    ListTablesRequest,
    NamespaceExistsRequest,
    RegisterTableRequest,
    RenameTableRequest,
    TableExistsRequest,
)

import lancespace
from lancespace_dir.backend import DirectoryBackend
from lancespace_dir.manifest.committer import ManifestTable
from lancespace_dir.manifest_catalog import ManifestCatalog
from lancespace_testing.samples import sample, stream

OURS = "ours"
PYLANCE = "pylance"

OK = "ok"

V1_ONLY = {"manifest_enabled": "false"}
V2_ONLY = {"dir_listing_enabled": "false"}
COMPATIBILITY: dict[str, str] = {}
MODES = {"V1": V1_ONLY, "V2": V2_ONLY, "compatibility": COMPATIBILITY}

MANIFEST = "__manifest"
RESERVED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"

DATA = stream(sample())
"""The rows of the sample, as every implementation takes them."""

Id = tuple[str, ...]


def connect(who: str, root: Path, **properties: str) -> LanceNamespace:
    """A new client of one of the implementations."""
    if who == OURS:
        return lancespace.connect("dir", {"root": str(root), **properties})
    theirs: LanceNamespace = lance.namespace.DirectoryNamespace(root=str(root), **properties)
    return theirs


class Client:
    """A client of either implementation, with the operations of the tests as plain calls."""

    def __init__(self, who: str, root: Path, **properties: str) -> None:
        self.who = who
        self.namespace = connect(who, root, **properties)

    def create_namespace(self, names: Id, **fields: Any) -> Any:
        return self.namespace.create_namespace(CreateNamespaceRequest(id=list(names), **fields))

    def describe_namespace(self, names: Id) -> dict[str, str]:
        answer = self.namespace.describe_namespace(DescribeNamespaceRequest(id=list(names)))
        return dict(answer.properties or {})

    def drop_namespace(self, names: Id, **fields: Any) -> Any:
        return self.namespace.drop_namespace(DropNamespaceRequest(id=list(names), **fields))

    def has_namespace(self, names: Id) -> bool:
        return _is_there(lambda: self.namespace.namespace_exists(NamespaceExistsRequest(id=list(names))))

    def namespaces(self, names: Id = ()) -> list[str]:
        return list(self.namespace.list_namespaces(ListNamespacesRequest(id=list(names))).namespaces)

    def declare(self, names: Id, **fields: Any) -> Any:
        return self.namespace.declare_table(DeclareTableRequest(id=list(names), **fields))

    def create_table(self, names: Id, data: bytes = DATA, **fields: Any) -> Any:
        return self.namespace.create_table(CreateTableRequest(id=list(names), **fields), data)

    def register(self, names: Id, location: str, **fields: Any) -> Any:
        return self.namespace.register_table(RegisterTableRequest(id=list(names), location=location, **fields))

    def deregister(self, names: Id) -> Any:
        return self.namespace.deregister_table(DeregisterTableRequest(id=list(names)))

    def rename(self, names: Id, target: Id) -> Any:
        request = RenameTableRequest(id=list(names), new_table_name=target[-1], new_namespace_id=list(target[:-1]))
        return self.namespace.rename_table(request)

    def drop(self, names: Id) -> Any:
        return self.namespace.drop_table(DropTableRequest(id=list(names)))

    def has_table(self, names: Id) -> bool:
        return _is_there(lambda: self.namespace.table_exists(TableExistsRequest(id=list(names))))

    def describe(self, names: Id, **fields: Any) -> Any:
        return self.namespace.describe_table(DescribeTableRequest(id=list(names), **fields))

    def list_tables(self, names: Id = (), **fields: Any) -> Any:
        return self.namespace.list_tables(ListTablesRequest(id=list(names), **fields))

    def tables(self, names: Id = (), **fields: Any) -> list[str]:
        return list(self.list_tables(names, **fields).tables)

    def all_tables(self, **fields: Any) -> list[str]:
        return list(self.namespace.list_all_tables(ListTablesRequest(**fields)).tables)

    def is_only_declared(self, names: Id) -> bool:
        return bool(self.describe(names, check_declared=True).is_only_declared)

    def place(self, names: Id) -> str | None:
        """Where a table is, relative to the root if it is below it; None if there is no such table."""
        try:
            location = self.describe(names).location
        except LanceNamespaceError as error:
            if outcome_of(error).endswith("NotFound"):
                return None
            raise
        return str(location).rstrip("/").rpartition("/")[2]

    def close(self) -> None:
        if isinstance(self.namespace, lancespace.Namespace):
            self.namespace.close()


def outcome(call: Callable[[], object]) -> str:
    """``ok``, or the name of the spec's error."""
    try:
        call()
    except LanceNamespaceError as error:
        return outcome_of(error)
    return OK


def outcome_of(error: LanceNamespaceError) -> str:
    """The name of an error without its suffix."""
    return type(error).__name__.removesuffix("Error")


def manifest_of(client: Client) -> ManifestTable:
    """The manifest behind a client of ours."""
    assert isinstance(client.namespace, lancespace.Namespace)
    backend = client.namespace._connection.backend
    assert isinstance(backend, DirectoryBackend)
    assert isinstance(backend.catalog, ManifestCatalog)
    return backend.catalog.manifest


def manifest_table(root: Path) -> Any:
    """The manifest, as Lance itself sees it."""
    return lance.dataset(str(root / MANIFEST))


def rows(root: Path) -> dict[str, dict[str, Any]]:
    """All rows of the manifest by identifier; two rows with one identifier are an error."""
    if not (root / MANIFEST).exists():
        return {}
    found = manifest_table(root).to_table().to_pylist()
    repeated = [object_id for object_id, count in Counter(row["object_id"] for row in found).items() if count > 1]
    assert not repeated, f"the manifest has several rows for {repeated}"
    return {row["object_id"]: row for row in found}


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """Every file and directory below a root, with its size and time of change."""
    if not root.exists():
        return {}
    paths = (path for path in (root, *root.rglob("*")))
    return {str(path.relative_to(root)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths}


def write_table(root: Path, location: str) -> None:
    """Put a Lance table somewhere, as a V1 writer that knows no catalog does."""
    lance.write_dataset(sample(), str(root / location))


def _is_there(check: Callable[[], object]) -> bool:
    found = outcome(check)
    assert found == OK or found.endswith("NotFound"), found
    return found == OK

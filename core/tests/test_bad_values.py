"""Bad values for connections and handles of tables: only errors of the spec come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, LanceNamespaceError

from lancespace import Namespace, connect

BAD: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "an object": object(),
    "bytes": b"t",
    "a list of nothing": [None],
    "a long name": "x" * 100_000,
    "a control character": "t\0",
    "half a character": "\udcff",
    "a dictionary": {"id": object()},
    "a huge number": 2**70,
}


@pytest.fixture(scope="module")
def namespace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    with connect("dir", {"root": str(tmp_path_factory.mktemp("lake"))}) as connected:
        connected.create_table("t", pa.table({"id": [1, 2]}))
        yield connected


TABLE: dict[str, Callable[[Any, Any], object]] = {
    "count": lambda table, value: table.count(value),
    "query": lambda table, value: table.query(filter=value).read_all(),
    "tag": lambda table, value: table.query(tag=value),
    "version": lambda table, value: table.dataset(version=value),
    "branch": lambda table, value: table.dataset(branch=value),
}


@pytest.mark.parametrize("call", TABLE)
@pytest.mark.parametrize("name", BAD)
def test_handles_of_tables(call: str, name: str, namespace: Namespace):
    with suppress(LanceNamespaceError):
        TABLE[call](namespace.table("t"), BAD[name])
    with suppress(LanceNamespaceError):
        namespace.table(BAD[name]).exists()


@pytest.mark.parametrize("name", [name for name in BAD if name != "nothing"])
def test_connections(name: str, tmp_path: Path):
    with pytest.raises(LanceNamespaceError):
        connect(BAD[name])
    if not isinstance(BAD[name], dict):
        with pytest.raises(InvalidInputError):
            connect("dir", BAD[name])
    with suppress(LanceNamespaceError), connect("dir", {"root": BAD[name]}) as connected:
        connected.table("t").exists()
    with suppress(LanceNamespaceError), connect("dir", {"root": str(tmp_path), "commit_retries": BAD[name]}):
        pass


def test_a_closed_namespace(namespace: Namespace):
    with connect(*namespace.connection_args()) as closed:
        pass
    for operation in ("list_tables", "describe_table", "create_table"):
        with suppress(LanceNamespaceError):
            getattr(closed, operation)("t")

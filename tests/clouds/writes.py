"""The writes that are tried on a bad network: how to do each, and how to see what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lance_namespace import CreateTableVersionRequest

import lancespace
from lancespace.testing.samples import COUNT, sample
from lancespace.testing.staging import stage_append
from tests.emulators.clouds import Cloud

State = dict[str, Any]


@dataclass(frozen=True)
class Catalog:
    """A catalog, as a client on a bad network sees it and as it is."""

    cloud: Cloud
    root: str
    client: lancespace.Namespace
    notes: dict[str, Any] = field(default_factory=dict)
    """What preparing a write leaves for doing it."""

    def state(self) -> State:
        """All that is in it, seen by somebody else on a good network; what is repeated or half there shows."""
        with self.cloud.connect(self.root) as namespace:
            parents = namespace.list_namespaces().namespaces
            tables = [f"{parent}.{name}" for parent in parents for name in namespace.list_tables(parent).tables]
            return {"namespaces": parents, "tables": {table: _rows(namespace, table) for table in tables}}


@dataclass(frozen=True)
class Write:
    """One write: what must be there before, what it does, and what is there after."""

    name: str
    prepare: Callable[[Catalog], object]
    act: Callable[[Catalog], object]
    before: State
    after: State
    halfway: State | None = None
    """Where a failure may leave it; a repeat goes on from there."""
    can_repeat: bool = True
    """Whether the client may send it again after an error, without knowing whether it was done."""


def _rows(namespace: lancespace.Namespace, table: str) -> int | None:
    """How many rows a table has; None if it is only declared."""
    if namespace.describe_table(table, check_declared=True).is_only_declared:
        return None
    return namespace.count_table_rows(table).count


def _with_table(catalog: Catalog) -> None:
    catalog.client.create_namespace("a")
    catalog.client.create_table("a.t", sample())


def _with_staged(catalog: Catalog) -> None:
    _with_table(catalog)
    location = catalog.client.describe_table("a.t").location
    assert location is not None
    catalog.notes.update(stage_append(catalog.cloud.storage(location), stop=COUNT))


def _commit(catalog: Catalog) -> object:
    request = CreateTableVersionRequest(id=["a", "t"], **catalog.notes)
    return catalog.client.create_table_version(request)


def _namespace(**tables: int | None) -> State:
    return {"namespaces": ["a"], "tables": {f"a.{name}": rows for name, rows in tables.items()}}


NOTHING: State = {"namespaces": [], "tables": {}}

WRITES = (
    Write("create_namespace", lambda _: None, lambda on: on.client.create_namespace("a"), NOTHING, _namespace()),
    Write(
        "drop_namespace",
        lambda on: on.client.create_namespace("a"),
        lambda on: on.client.drop_namespace("a"),
        _namespace(),
        NOTHING,
    ),
    Write(
        "declare_table",
        lambda on: on.client.create_namespace("a"),
        lambda on: on.client.declare_table("a.t"),
        _namespace(),
        _namespace(t=None),
    ),
    Write(
        "create_table",
        lambda on: on.client.create_namespace("a"),
        lambda on: on.client.create_table("a.t", sample()),
        _namespace(),
        _namespace(t=COUNT),
        halfway=_namespace(t=None),
    ),
    Write(
        "insert_into_table",
        _with_table,
        lambda on: on.client.insert_into_table("a.t", sample()),
        _namespace(t=COUNT),
        _namespace(t=2 * COUNT),
        can_repeat=False,
    ),
    Write("create_table_version", _with_staged, _commit, _namespace(t=COUNT), _namespace(t=2 * COUNT)),
    Write("drop_table", _with_table, lambda on: on.client.drop_table("a.t"), _namespace(t=COUNT), _namespace()),
)

"""The writes that are tried on a bad network: the suite's example of each operation, and how to see what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lancespace.authoring import OPERATIONS
from lancespace_testing.client import Client
from lancespace_testing.examples import TABLE
from lancespace_testing.staging import stage_append
from tests.emulators.clouds import Cloud

State = dict[str, Any]
Fields = dict[str, Any]

JOBS = {"alter_table_backfill_columns", "refresh_materialized_view", "alter_transaction"}
"""What they do is done after the answer; the conformance suite waits for it."""

WRITES = [name for name, row in OPERATIONS.items() if row.writes and name not in JOBS]


@contextmanager
def connected(cloud: Cloud, root: str) -> Iterator[Client]:
    """A client of a catalog, as the conformance suite has it."""
    with cloud.connect(root) as namespace:
        yield Client(namespace, frozenset(OPERATIONS), _send, cloud.storage)


def prepare(client: Client, operation: str) -> Fields:
    """Make the world in which the example of an operation succeeds; what its request says differently then."""
    client.prepare(operation)
    return _PREPARED[operation](client) if operation in _PREPARED else {}


def state(cloud: Cloud, root: str) -> State:
    """All that is in a catalog, seen by somebody else on a good network; what is repeated or half there shows."""
    with connected(cloud, root) as client:
        tables = client("list_tables", id=[], include_declared=False).tables
        return {**client.state(), **{f"rows of {table}": client.rows([table]) for table in tables}}


def _send(namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None) -> Any:
    method = getattr(namespace, operation)
    return method(request) if data is None else method(request, data)


def _staged(client: Client) -> Fields:
    return stage_append(client.storage(client("describe_table", id=TABLE).location))


def _out_of_the_catalog(client: Client) -> Fields:
    location: str = client("deregister_table", id=TABLE).location
    return {"location": location.rpartition("/")[2]}


def _second_version(client: Client) -> Fields:
    client.example("insert_into_table")
    return {"version": 2}


_PREPARED: Mapping[str, Callable[[Client], Fields]] = {
    "register_table": _out_of_the_catalog,
    "create_table_version": _staged,
    "batch_create_table_versions": lambda client: {"entries": [{"id": TABLE, **_staged(client)}]},
    "update_table_tag": _second_version,
}

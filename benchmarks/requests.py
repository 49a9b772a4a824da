"""S3 requests of each operation, beside pylance's DirectoryNamespace: the same calls on equal catalogs, in one run.

Requests are what an object store bills and what takes the time. Both clients talk to an S3 on this machine that counts
them. Counts do not depend on the machine, so a test holds ours to the goals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lance.namespace import DirectoryNamespace
from lance_namespace import (
    CreateNamespaceRequest,
    CreateTableRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    DropTableRequest,
    LanceNamespace,
    ListTablesRequest,
    TableExistsRequest,
)

from benchmarks.counting import CountingStore, counting_store
from benchmarks.report import Result
from benchmarks.rows import batches, to_ipc
from lancespace import connect

Id = list[str]
Counts = Mapping[str, Counter[str]]
"""By client, how many requests of each kind."""

OPEN: dict[str, Callable[[str, dict[str, str]], LanceNamespace]] = {
    "ours": lambda root, options: connect("dir", {"root": root, **options}),
    "rust": lambda root, options: DirectoryNamespace(root=root, **options),
}
PLACES: dict[str, Id] = {"in a namespace": ["ns"], "in the root": []}
DATA = to_ipc(next(batches(10)))


@dataclass(frozen=True)
class Case:
    """A call that both of them take."""

    name: str
    goal: int
    """So many requests at most; to list the root takes one more, as V1 tables have to be looked for, too."""
    call: Callable[[Any, Id, str], object]
    """Takes a client, where, and a name that is new each time."""


CASES = (
    Case("table_exists", 1, lambda ns, at, _: ns.table_exists(TableExistsRequest(id=[*at, "t"]))),
    Case("describe_table", 1, lambda ns, at, _: ns.describe_table(DescribeTableRequest(id=[*at, "t"]))),
    Case("list_tables", 1, lambda ns, at, _: ns.list_tables(ListTablesRequest(id=at))),
    Case("create_namespace", 5, lambda ns, at, new: ns.create_namespace(CreateNamespaceRequest(id=[*at, f"n{new}"]))),
    Case("create_table", 10, lambda ns, at, new: ns.create_table(CreateTableRequest(id=[*at, f"c{new}"]), DATA)),
    Case("declare_table", 7, lambda ns, at, new: ns.declare_table(DeclareTableRequest(id=[*at, f"d{new}"]))),
    Case("drop_table", 8, lambda ns, at, new: ns.drop_table(DropTableRequest(id=[*at, f"c{new}"]))),
)
MORE_IN_THE_ROOT = {"list_tables": 1, "drop_table": 8}
"""V1 tables are looked for in the directory; and of a directory in the root only what was seen is deleted."""
FIRST_GOAL = 3


def run() -> Iterator[Result]:
    """The first call of a client, then each operation when it is warm."""
    with counting_store() as store:
        roots = {who: f"s3://{store.bucket}/{who}" for who in OPEN}
        for who, root in roots.items():
            _fill(OPEN[who](root, store.options))
        first = {who: _first(store, who, root) for who, root in roots.items()}
        yield from _report("first open + table_exists", first, f"at most {FIRST_GOAL}")
        clients = {who: OPEN[who](root, store.options) for who, root in roots.items()}
        for place, parent in PLACES.items():
            for client in clients.values():
                _call_all(client, parent, "0")
            for case in CASES:
                counts = {who: _count(store, client, case, parent) for who, client in clients.items()}
                yield from _report(f"{case.name} {place}", counts, _goal(case, parent))


def _goal(case: Case, parent: Id) -> str:
    return f"at most {case.goal + (0 if parent else MORE_IN_THE_ROOT.get(case.name, 0))}"


def _fill(namespace: LanceNamespace) -> None:
    """A catalog with a few names, and a table in each place."""
    namespace.create_namespace(CreateNamespaceRequest(id=["ns"]))
    for parent in PLACES.values():
        namespace.create_table(CreateTableRequest(id=[*parent, "t"]), DATA)


def _first(store: CountingStore, who: str, root: str) -> Counter[str]:
    store.take()
    OPEN[who](root, store.options).table_exists(TableExistsRequest(id=["ns", "t"]))
    return store.take()


def _call_all(namespace: Any, parent: Id, new: str) -> None:
    for case in CASES:
        case.call(namespace, parent, new)


def _count(store: CountingStore, namespace: Any, case: Case, parent: Id) -> Counter[str]:
    store.take()
    case.call(namespace, parent, "1")
    return store.take()


def _report(case: str, counts: Counts, goal: str) -> Iterator[Result]:
    """All requests of a case, then those of each kind."""
    yield Result(case, {who: counts[who].total() for who in counts}, goal)
    for kind in sorted(set().union(*counts.values())):
        yield Result(f"  {kind}", {who: counts[who][kind] for who in counts})

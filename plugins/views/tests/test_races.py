"""Several refreshes of one view at once: each of its rows is there once."""

from __future__ import annotations

import threading
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance_namespace import ConcurrentModificationError

import lancespace_views as views
from lancespace import Namespace, connect
from lancespace_tables import TableLocation
from lancespace_testing.threads import race
from lancespace_views._refresh import Refresh
from lancespace_views._state import State, commit, file_of
from plugins.views.tests.conftest import filled
from plugins.views.tests.support import assert_is_query, ended, orders, refresh, schema

CLIENTS = 4
ROUNDS = 4

QUERIES = {
    "ids": ("SELECT id, total FROM {sales_orders} WHERE total > 1", schema(id=pa.int64(), total=pa.float64())),
    "sums": (
        "SELECT person, count(*) AS n FROM {sales_orders} GROUP BY person",
        schema(person=pa.int64(), n=pa.int64()),
    ),
}


def create_all(namespace: Namespace) -> None:
    for name, (query, columns) in QUERIES.items():
        statement = query.format(sales_orders="sales.orders")
        namespace.create_materialized_view(name, **views.query_view(statement, columns))


@pytest.mark.parametrize("change", ["insert", "update"])
@pytest.mark.parametrize("view", sorted(QUERIES))
def test_refreshes_of_several_connections(tmp_path: Path, view: str, change: str):
    with filled("dir", tmp_path) as namespace:
        create_all(namespace)
        clients = [connect("dir", {"root": str(tmp_path)}) for _ in range(CLIENTS)]
        for number in range(10, 10 + ROUNDS):
            namespace.insert_into_table("sales.orders", orders(number))
            if change == "update":
                namespace.update_table("sales.orders", updates=[["total", "total + 1"]], predicate=f"id < {number}")
            jobs = race(lambda who: clients[who].refresh_materialized_view(view).job_id, threads=CLIENTS).won
            assert {ended(clients[who], job).status for who, job in jobs.items()} == {"SUCCEEDED"}
            assert len(jobs) == CLIENTS
            assert_is_query(namespace, view, QUERIES[view][0])
        for client in clients:
            client.close()


def test_refreshes_beside_writers(tmp_path: Path):
    with filled("dir", tmp_path) as namespace:
        create_all(namespace)
        is_over = threading.Event()

        def write() -> None:
            for number in range(100, 120):
                namespace.insert_into_table("sales.orders", orders(number))
                namespace.delete_from_table("sales.orders", predicate=f"id = {number - 2}")
            is_over.set()

        writer = threading.Thread(target=write)
        writer.start()
        while not is_over.is_set():
            for view, (query, _) in QUERIES.items():
                refresh(namespace, view)
                assert_is_query(namespace, view, query)
        writer.join()
        for view, (query, _) in QUERIES.items():
            refresh(namespace, view)
            assert_is_query(namespace, view, query)


@pytest.mark.parametrize("first", ["rows", "no rows"])
def test_of_two_commits_on_one_version_the_later_is_refused(tmp_path: Path, first: str):
    columns = QUERIES["ids"][1]
    location = str(tmp_path / "v.lance")
    lance.write_dataset(columns.empty_table(), location)
    if first == "rows":
        lance.write_dataset(pa.table({"id": [0], "total": [0.0]}), location, mode="append")
    ref = TableLocation(("v",), location, {})
    one, other = ref.open(), ref.open()
    kept = {"0": tuple(file_of(fragment.metadata) for fragment in one.get_fragments())}

    commit(ref, one, *added(one, kept, 1))
    with pytest.raises(ConcurrentModificationError):
        commit(ref, other, *added(other, kept, 1))

    assert ref.open().count_rows("id = 1") == 1


def added(view: lance.LanceDataset, kept: dict[str, tuple[str, ...]], number: int):
    rows = pa.table({"id": [number], "total": [1.0]}, schema=view.schema)
    fragments = lance.fragment.write_fragments(rows, view, mode="append")
    units = {**kept, str(number): tuple(file_of(fragment) for fragment in fragments)}
    return State({"t": 1}, units), fragments


def test_rows_that_come_around_the_catalog_during_a_refresh_are_gone_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with filled("dir", tmp_path) as namespace:
        create_all(namespace)
        location = str(namespace.describe_table("ids").location)
        refresh(namespace, "ids")
        namespace.insert_into_table("sales.orders", orders(4))
        compute = Refresh._compute
        intruded: list[lance.LanceDataset] = []

        def intrude(self: Refresh, *arguments: object) -> None:
            if not intruded:
                intruded.append(lance.write_dataset(pa.table({"id": [-1], "total": [9.0]}), location, mode="append"))
            compute(self, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(Refresh, "_compute", intrude)
        refresh(namespace, "ids")

        assert intruded
        assert_is_query(namespace, "ids", QUERIES["ids"][0])

"""lancedb: a connection by the class path of our backend."""

from __future__ import annotations

import lancedb
import pytest

from lancespace import Namespace
from tests.ecosystem.conftest import ORDERS


@pytest.fixture
def database(namespace: Namespace) -> lancedb.DBConnection:
    _, properties = namespace.connection_args()
    return lancedb.connect_namespace("lancespace.upstream.dir", properties)


def test_search(database: lancedb.DBConnection):
    table = database.open_table("orders", namespace_path=["sales"])

    assert table.count_rows() == ORDERS.num_rows
    assert [row["id"] for row in table.search([0.7, 0.6]).limit(1).to_list()] == [3]
    assert [row["id"] for row in table.search().where("item = 'desk'").to_list()] == [2]


def test_what_lancedb_writes_is_a_table(database: lancedb.DBConnection, namespace: Namespace):
    made = database.create_table("copy", ORDERS, namespace_path=["sales"])
    made.add(ORDERS.slice(0, 1))
    made.update(where="id = 2", values={"item": "table"})

    copy = namespace.table("sales.copy")
    assert copy.count() == ORDERS.num_rows + 1
    assert copy.to_arrow(filter="id = 2", columns=["item"]).to_pylist() == [{"item": "table"}]


def test_namespaces_and_names(database: lancedb.DBConnection, namespace: Namespace):
    database.create_namespace(["archive"])
    database.create_table("old", ORDERS, namespace_path=["archive"])
    database.drop_table("old", namespace_path=["archive"])

    assert sorted(database.list_namespaces().namespaces) == sorted(namespace.namespaces()) == ["archive", "sales"]
    assert database.list_tables(["sales"]).tables == ["orders"]
    assert list(namespace.tables("archive")) == []

"""lancedb's namespace connection against our server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest

from plugins.server.tests.hosting import Running, catalog_url

ROWS = pa.table({"id": [1, 2, 3], "vector": pa.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]], pa.list_(pa.float32(), 2))})


@pytest.fixture
def database(host: Running, tmp_path: Path) -> Any:
    return lancedb.connect_namespace("rest", {"uri": catalog_url(host, tmp_path)})


def test_tables_are_created_listed_opened_and_dropped(database: Any):
    database.create_namespace(["sales"])
    created = database.create_table("orders", ROWS, namespace_path=["sales"])
    opened = database.open_table("orders", namespace_path=["sales"])

    assert created.count_rows() == opened.count_rows() == 3
    assert database.list_tables(namespace_path=["sales"]).tables == ["orders"]
    database.drop_table("orders", namespace_path=["sales"])
    assert database.list_tables(namespace_path=["sales"]).tables == []


def test_rows_are_added_searched_and_deleted(database: Any):
    table = database.create_table("things", ROWS)
    table.add(pa.table({"id": [4], "vector": pa.array([[9.0, 9.0]], pa.list_(pa.float32(), 2))}))

    assert [row["id"] for row in table.search([8.0, 8.0]).limit(2).to_list()] == [4, 3]
    table.delete("id > 2")
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 2]


def test_an_existing_table_is_not_created_again(database: Any):
    database.create_table("things", ROWS)

    with pytest.raises(Exception, match="exists"):
        database.create_table("things", ROWS)
    assert database.open_table("things").count_rows() == 3
    replaced = database.create_table("things", ROWS.slice(0, 1), mode="overwrite")
    assert replaced.count_rows() == 1

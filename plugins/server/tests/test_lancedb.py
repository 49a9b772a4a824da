"""lancedb's namespace connection against our server: what comes of its calls.

Which of them reach the server is in ``test_lancedb_calls.py``. Each test runs twice: with all that can be pushed down
to the server pushed down, and without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest

from plugins.server.tests.hosting import Running, catalog_url

VECTORS = pa.list_(pa.float32(), 2)
ROWS = pa.table({"id": [1, 2, 3], "vector": pa.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]], VECTORS)})
FOURTH = pa.table({"id": [4], "vector": pa.array([[9.0, 9.0]], VECTORS)})


@pytest.fixture(params=[None, ["QueryTable", "CreateTable"]], ids=["itself", "server"])
def database(request: pytest.FixtureRequest, host: Running, tmp_path: Path) -> Any:
    properties = {"uri": catalog_url(host, tmp_path)}
    return lancedb.connect_namespace("rest", properties, namespace_client_pushdown_operations=request.param)


def test_namespaces(database: Any):
    database.create_namespace(["sales"], properties={"owner": "ada"})
    database.create_namespace(["sales", "eu"])

    assert database.describe_namespace(["sales"]).properties["owner"] == "ada"
    assert database.list_namespaces(["sales"]).namespaces == ["eu"]
    assert database.namespace_client() is not None  # Before it was asked for, lancedb 0.40 has none to look with.
    assert [database.namespace_exists(["sales", name]) for name in ("eu", "us")] == [True, False]
    database.drop_namespace(["sales", "eu"])
    assert database.list_namespaces(["sales"]).namespaces == []


def test_tables_are_created_listed_opened_and_dropped(database: Any):
    database.create_namespace(["sales"])
    created = database.create_table("orders", ROWS, namespace_path=["sales"])
    opened = database.open_table("orders", namespace_path=["sales"])

    assert created.count_rows() == opened.count_rows() == 3
    assert database.list_tables(namespace_path=["sales"]).tables == ["orders"]
    assert database.namespace_client() is not None  # As above.
    assert [database.table_exists(["sales", name]) for name in ("orders", "people")] == [True, False]
    database.drop_table("orders", namespace_path=["sales"])
    assert database.list_tables(namespace_path=["sales"]).tables == []


def test_lists_come_in_pages(database: Any):
    for name in ("a", "b", "c"):
        database.create_table(name, ROWS)
    first = database.list_tables(limit=2)
    second = database.list_tables(limit=2, page_token=first.page_token)

    assert (first.tables, second.tables) == (["a", "b"], ["c"])
    database.drop_all_tables()
    assert database.list_tables().tables == []


def test_a_renamed_table_keeps_its_rows(database: Any):
    database.create_namespace(["archive"])
    database.create_table("orders", ROWS)
    database.rename_table("orders", "old", new_namespace_path=["archive"])

    assert database.open_table("old", namespace_path=["archive"]).count_rows() == 3
    assert database.list_tables().tables == []


def test_rows_are_added_searched_changed_and_deleted(database: Any):
    table = database.create_table("things", ROWS)
    table.add(FOURTH)

    assert [row["id"] for row in table.search([8.0, 8.0]).limit(2).to_list()] == [4, 3]
    assert [row["id"] for row in table.search().where("id = 2").limit(5).to_list()] == [2]
    table.update(where="id = 4", values={"vector": [0.1, 0.1]})
    table.merge_insert("id").when_not_matched_insert_all().execute(pa.table({"id": [5], "vector": FOURTH["vector"]}))
    table.delete("id in (2, 3)")
    assert sorted(database.open_table("things").to_arrow()["id"].to_pylist()) == [1, 4, 5]


def test_columns_tags_and_versions(database: Any):
    table = database.create_table("things", ROWS)
    table.tags.create("first", table.version)
    table.add_columns({"double": "id * 2"})
    table.alter_columns({"path": "double", "rename": "twice"})
    opened = database.open_table("things")

    assert opened.to_arrow()["twice"].to_pylist() == [2, 4, 6]
    assert opened.tags.get_version("first") == 1
    assert len(opened.list_versions()) == 3
    opened.drop_columns(["twice"])
    assert database.open_table("things").schema.names == ["id", "vector"]


def test_an_existing_table_is_not_created_again(database: Any):
    database.create_table("things", ROWS)

    with pytest.raises(Exception, match="exists"):
        database.create_table("things", ROWS)
    assert database.open_table("things").count_rows() == 3
    replaced = database.create_table("things", ROWS.slice(0, 1), mode="overwrite")
    assert replaced.count_rows() == 1

"""What a view is made from stays, and the view is changed by nothing but a refresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidTableStateError, TableNotFoundError, UnsupportedOperationError

import lancespace_views as views
from lancespace import Namespace, connect
from plugins.views.tests.support import orders, refresh, rows, schema

IDS = views.query_view("SELECT id FROM sales.orders", schema(id=pa.int64()))


@pytest.fixture
def viewed(namespace: Namespace) -> Namespace:
    """The catalog with the view ``ids`` on ``sales.orders``, and ``sales.inner`` beside that."""
    namespace.create_materialized_view("ids", **IDS)
    namespace.create_materialized_view("sales.inner", **IDS)
    refresh(namespace, "ids")
    return namespace


@pytest.mark.parametrize(
    ("operation", "name", "options"),
    [
        ("drop_table", "sales.orders", {}),
        ("deregister_table", "sales.orders", {}),
        ("rename_table", "sales.orders", {"new_table_name": "other"}),
        ("drop_namespace", "sales", {"behavior": "Cascade"}),
    ],
)
def test_sources_stay_and_the_views_are_named(viewed: Namespace, operation: str, name: str, options: dict[str, Any]):
    with pytest.raises(InvalidTableStateError, match="'ids'") as refused:
        getattr(viewed, operation)(name, **options)

    assert ("'sales.inner'" in str(refused.value)) == (operation != "drop_namespace")
    assert len(rows(viewed, "sales.orders")) == 3
    refresh(viewed, "ids")


def test_a_namespace_goes_with_its_views_and_their_sources(viewed: Namespace):
    viewed.drop_table("ids")
    viewed.drop_namespace("sales", behavior="Cascade")

    assert list(viewed.namespaces()) == []


def test_sources_may_go_after_their_views(viewed: Namespace):
    viewed.drop_table("ids")
    viewed.drop_table("sales.inner")
    viewed.drop_table("sales.orders")

    assert list(viewed.tables("sales")) == []


def test_a_view_may_be_renamed_and_still_holds_its_sources(viewed: Namespace):
    viewed.rename_table("ids", new_table_name="renamed")
    viewed.insert_into_table("sales.orders", orders(4))
    refresh(viewed, "renamed")

    assert len(rows(viewed, "renamed")) == 4
    with pytest.raises(InvalidTableStateError, match="'renamed'"):
        viewed.drop_table("sales.orders")


def test_a_view_that_others_are_made_from_stays(viewed: Namespace):
    viewed.create_materialized_view("top", **views.query_view("SELECT id FROM ids", schema(id=pa.int64())))

    with pytest.raises(InvalidTableStateError, match="'top'"):
        viewed.drop_table("ids")


ROW = pa.table({"id": [9]})


@pytest.mark.parametrize(
    ("operation", "data", "fields"),
    [
        ("insert_into_table", ROW, {}),
        ("create_table", ROW, {"mode": "overwrite"}),
        ("merge_insert_into_table", ROW, {"on": ["id"], "when_not_matched_insert_all": True}),
        ("update_table", None, {"updates": [["id", "0"]]}),
        ("delete_from_table", None, {"predicate": "true"}),
        ("alter_table_add_columns", None, {"new_columns": [{"name": "x", "expression": "1"}]}),
        ("alter_table_alter_columns", None, {"alterations": [{"path": "id", "rename": "x"}]}),
        ("alter_table_drop_columns", None, {"columns": ["id"]}),
        ("alter_table_backfill_columns", None, {"column": "id"}),
    ],
)
def test_nobody_writes_to_a_view(viewed: Namespace, operation: str, data: Any, fields: dict[str, Any]):
    arguments = ["ids"] if data is None else ["ids", data]
    with pytest.raises(UnsupportedOperationError, match="'ids' is a materialized view"):
        getattr(viewed, operation)(*arguments, **fields)
    assert rows(viewed, "ids") == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_a_branch_of_a_view_may_be_written_to(viewed: Namespace):
    viewed.create_table_branch("ids", name="trial")
    viewed.insert_into_table("ids", ROW, branch="trial")

    assert viewed.count_table_rows("ids", branch="trial").count == 4
    assert viewed.table("ids").count() == 3


def test_the_manifest_of_a_directory_has_the_base_objects(tmp_path: Path):
    with connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.create_namespace("a")
        for name in ("a.one", "two"):
            namespace.create_table(name, ROW)
        joined = views.query_view("SELECT one.id FROM a.one JOIN two ON one.id = two.id", schema(id=pa.int64()))
        namespace.create_materialized_view("a.v", **joined)

    found = lance.dataset(str(tmp_path / "__manifest")).to_table().to_pylist()
    bases = {row["object_id"]: row["base_objects"] for row in found}
    assert bases == {"a": None, "a$one": None, "two": None, "a$v": ["a$one", "two"]}


@pytest.mark.parametrize("operation", ["drop_table", "deregister_table"])
def test_a_table_that_only_the_directory_shows_stays_too(tmp_path: Path, operation: str):
    lance.write_dataset(ROW, str(tmp_path / "found.lance"))
    with connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.create_materialized_view("v", **views.query_view("SELECT id FROM found", schema(id=pa.int64())))
        refresh(namespace, "v")
        with pytest.raises(InvalidTableStateError, match="'v'"):
            getattr(namespace, operation)("found")
        with pytest.raises(InvalidTableStateError, match="'v'"):
            namespace.rename_table("found", new_table_name="other")

        assert rows(namespace, "found") == rows(namespace, "v") == [{"id": 9}]


def test_a_source_that_was_dropped_while_the_view_was_created_is_missed(tmp_path: Path):
    from lance_namespace import DeclareTableRequest

    from lancespace_tables import View

    with connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.create_namespace("a")
        gone = View(("v",), "query", (("a", "gone"),))
        with pytest.raises(TableNotFoundError, match=r"a\.gone"):
            namespace.backend.declare_table(DeclareTableRequest(id=["v"], properties=gone.properties))


def test_a_v1_catalog_has_no_views(tmp_path: Path):
    with connect("dir", {"root": str(tmp_path), "manifest_enabled": "false"}) as namespace:
        assert not {"create_materialized_view", "refresh_materialized_view"} & namespace.capabilities()

"""What a refresh makes of a view, and what it leaves alone."""

from __future__ import annotations

import shutil
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableNotFoundError, TableVersionNotFoundError, UnsupportedOperationError

import lancespace_views as views
from lancespace import Namespace
from plugins.views.tests.support import assert_is_query, failure, files, made_from, orders, refresh, rows, schema

ROW_WISE = "SELECT id, total * 2 AS twice FROM {sales_orders} WHERE total > 2"
TWICE = schema(id=pa.int64(), twice=pa.float64())
JOINED = "SELECT p.name, sum(o.total) AS total FROM {sales_orders} o JOIN {people} p ON o.person = p.id GROUP BY p.name"
TOTALS = schema(name=pa.string(), total=pa.float64())


def statement(query: str) -> str:
    return query.format(sales_orders="sales.orders", people="people")


@pytest.fixture
def twice(namespace: Namespace) -> Namespace:
    """The catalog with a row-wise view ``twice``, refreshed."""
    namespace.create_materialized_view("twice", **views.query_view(statement(ROW_WISE), TWICE))
    refresh(namespace, "twice")
    return namespace


@pytest.mark.parametrize(("query", "columns"), [(ROW_WISE, TWICE), (JOINED, TOTALS)], ids=["row-wise", "joined"])
def test_a_view_is_its_query_after_every_kind_of_change(namespace: Namespace, query: str, columns: pa.Schema):
    namespace.create_materialized_view("v", **views.query_view(statement(query), columns))
    assert namespace.table("v").count() == 0
    refresh(namespace, "v")
    assert_is_query(namespace, "v", query)

    namespace.insert_into_table("sales.orders", orders(4, 5))
    refresh(namespace, "v")
    assert_is_query(namespace, "v", query)
    namespace.delete_from_table("sales.orders", predicate="id = 4")
    namespace.update_table("sales.orders", updates=[["total", "total + 1"]], predicate="id <= 2")
    namespace.merge_insert_into_table("sales.orders", orders(5, 6), on=["id"], when_matched_update_all=True)
    refresh(namespace, "v")
    assert_is_query(namespace, "v", query)
    namespace.insert_into_table("sales.orders", orders(9), mode="overwrite")
    refresh(namespace, "v")

    assert_is_query(namespace, "v", query)
    assert made_from(namespace, "v")["sales.orders"] == namespace.table("sales.orders").dataset().version


def test_appended_rows_are_added_and_the_others_left_where_they_are(twice: Namespace):
    before = files(twice, "twice")
    twice.insert_into_table("sales.orders", orders(4, 5))

    refresh(twice, "twice")

    assert before < files(twice, "twice")
    assert [row["id"] for row in rows(twice, "twice")] == [2, 3, 4, 5]


def test_only_rows_of_changed_fragments_are_made_again(twice: Namespace):
    twice.insert_into_table("sales.orders", orders(4, 5))
    refresh(twice, "twice")
    before = files(twice, "twice")
    twice.delete_from_table("sales.orders", predicate="id = 5")

    refresh(twice, "twice")

    assert len(before & files(twice, "twice")) == 1
    assert [row["id"] for row in rows(twice, "twice")] == [2, 3, 4]


def test_a_view_that_is_up_to_date_is_not_touched(twice: Namespace):
    version = twice.table("twice").dataset().version

    refresh(twice, "twice")

    assert twice.table("twice").dataset().version == version


def test_what_others_wrote_to_the_view_is_gone_after_a_refresh(twice: Namespace):
    location = str(twice.describe_table("twice").location)
    lance.write_dataset(pa.table({"id": [77], "twice": [7.0]}), location, mode="append")
    refresh(twice, "twice")
    assert [row["id"] for row in rows(twice, "twice")] == [2, 3]

    lance.dataset(location).delete("id = 2")
    refresh(twice, "twice")
    assert [row["id"] for row in rows(twice, "twice")] == [2, 3]

    lance.dataset(location).optimize.compact_files()
    twice.insert_into_table("sales.orders", orders(4))
    refresh(twice, "twice")
    assert [row["id"] for row in rows(twice, "twice")] == [2, 3, 4]


def test_renamed_columns_of_a_source_are_not_mistaken_for_each_other(namespace: Namespace):
    namespace.create_table("pairs", pa.table({"a": [1, 2], "b": [10, 20]}))
    namespace.create_materialized_view("v", **views.query_view("SELECT a FROM pairs", schema(a=pa.int64())))
    refresh(namespace, "v")
    for old, new in (("a", "c"), ("b", "a")):
        namespace.alter_table_alter_columns("pairs", alterations=[{"path": old, "rename": new}])

    refresh(namespace, "v")

    assert rows(namespace, "v") == [{"a": 10}, {"a": 20}]


def test_a_source_that_was_replaced_by_another_table_is_noticed(twice: Namespace):
    twice.insert_into_table("sales.orders", orders(4))
    refresh(twice, "twice")
    location = str(twice.describe_table("sales.orders").location)
    shutil.rmtree(location)
    lance.write_dataset(orders(7), location)

    refresh(twice, "twice")

    assert made_from(twice, "twice") == {"sales.orders": 1}
    assert [row["id"] for row in rows(twice, "twice")] == [7]


def test_indexes_of_a_view_stay_and_answer_for_its_rows_of_now(twice: Namespace):
    twice.create_table_scalar_index("twice", column="id", index_type="BTREE", name="by_id")
    twice.insert_into_table("sales.orders", orders(4))
    twice.delete_from_table("sales.orders", predicate="id = 2")

    refresh(twice, "twice")

    assert [index.index_name for index in twice.list_table_indices("twice").indexes] == ["by_id"]
    assert [twice.table("twice").count(f"id = {n}") for n in (2, 3, 4)] == [0, 1, 1]


def test_a_view_that_was_restored_is_what_it_was_and_can_go_on(twice: Namespace):
    old = twice.table("twice").dataset().version
    twice.delete_from_table("sales.orders", predicate="id = 2")
    refresh(twice, "twice")
    twice.restore_table("twice", version=old)
    assert_is_query(twice, "twice", ROW_WISE)
    assert made_from(twice, "twice") == {"sales.orders": 1}

    refresh(twice, "twice")

    assert [row["id"] for row in rows(twice, "twice")] == [3]


def test_a_source_at_an_earlier_version(twice: Namespace):
    twice.insert_into_table("sales.orders", orders(4))
    twice.insert_into_table("sales.orders", orders(5))
    refresh(twice, "twice")

    refresh(twice, "twice", src_version=2)

    assert made_from(twice, "twice") == {"sales.orders": 2}
    assert_is_query(twice, "twice", ROW_WISE)
    with pytest.raises(TableVersionNotFoundError, match="99"):
        twice.refresh_materialized_view("twice", src_version=99)


def test_all_sources_are_read_at_the_versions_they_had_when_it_was_asked_for(namespace: Namespace):
    namespace.create_materialized_view("v", **views.query_view(statement(JOINED), TOTALS))
    asked = namespace.refresh_materialized_view("v").job_id
    namespace.insert_into_table("sales.orders", orders(100))
    refresh(namespace, "v", concurrency=1)
    assert_is_query(namespace, "v", JOINED)
    assert namespace.describe_transaction(asked).status == "SUCCEEDED"

    with pytest.raises(InvalidInputError, match=r"made from people, sales\.orders"):
        namespace.refresh_materialized_view("v", src_version=1)


def test_a_view_of_a_view(twice: Namespace):
    twice.create_materialized_view(
        "more", **views.query_view("SELECT id FROM twice WHERE id > 2", schema(id=pa.int64()))
    )
    refresh(twice, "more")
    twice.insert_into_table("sales.orders", orders(4))
    refresh(twice, "twice")
    refresh(twice, "more")

    assert rows(twice, "more") == [{"id": 3}, {"id": 4}]


def test_rows_per_fragment(twice: Namespace):
    twice.insert_into_table("sales.orders", orders(*range(10, 20)))

    refresh(twice, "twice", max_rows_per_fragment=4)

    sizes = [fragment.count_rows() for fragment in twice.table("twice").dataset().get_fragments()]
    assert sorted(sizes) == [2, 2, 4, 4]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"output_limit": 5}, InvalidInputError, "output_limit is for views of kind 'chunker'"),
        ({"max_rows_per_fragment": 0}, InvalidInputError, "max_rows_per_fragment must be at least 1"),
        ({"cluster": "big"}, UnsupportedOperationError, "no cluster to choose"),
        ({"manifest": "{}"}, UnsupportedOperationError, "no manifest to choose"),
    ],
)
def test_options_that_do_not_go_with_the_view(twice: Namespace, options: dict[str, Any], error: type, message: str):
    with pytest.raises(error, match=message):
        twice.refresh_materialized_view("twice", **options)


def test_what_is_no_view_is_not_refreshed(namespace: Namespace):
    with pytest.raises(InvalidInputError, match="'people' is not a materialized view"):
        namespace.refresh_materialized_view("people")
    with pytest.raises(TableNotFoundError):
        namespace.refresh_materialized_view("nothing")


def test_a_query_that_no_longer_fits_its_source_fails_and_the_view_stays(twice: Namespace):
    twice.alter_table_alter_columns("sales.orders", alterations=[{"path": "total", "rename": "sum"}])

    assert "No field named total" in failure(twice, "twice")
    assert [row["id"] for row in rows(twice, "twice")] == [2, 3]


def test_a_null_where_the_schema_has_none_fails_by_name(namespace: Namespace):
    columns = pa.schema([pa.field("note", pa.string(), nullable=False)])
    namespace.create_materialized_view("notes", **views.query_view("SELECT note FROM sales.orders", columns))
    refresh(namespace, "notes")
    namespace.update_table("sales.orders", updates=[["note", "NULL"]], predicate="id = 1")

    assert "a null for the column 'note'" in failure(namespace, "notes")

"""Creating views: what is refused, what is recorded, and what a create that was interrupted leaves."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pytest
from lance_namespace import (
    DescribeTableRequest,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    UnsupportedOperationError,
)

import lancespace_views as views
from lancespace import Namespace
from lancespace._manager import register
from lancespace.authoring import hookimpl
from lancespace_views._requests import write_query, write_schema
from plugins.views.tests.support import ended, refresh, rows, schema

IDS = views.query_view("SELECT id FROM sales.orders", schema(id=pa.int64()))


def test_a_view_is_a_table_that_says_what_it_is(namespace: Namespace):
    created = namespace.create_materialized_view("sales.ids", **IDS)

    described = namespace.describe_table("sales.ids", load_detailed_metadata=True)
    assert created.job_id is None
    assert created.version == described.version == namespace.table("sales.ids").dataset().version
    assert list(namespace.tables("sales")) == ["ids", "orders"]
    assert json.loads((described.properties or {})["lancespace.view"])["sources"] == ["sales$orders"]
    definition = json.loads((described.metadata or {})["lancespace.view.definition"])
    assert definition["source_query"] == IDS["source_query"]
    assert namespace.table("sales.ids").to_arrow().schema.names == ["id"]


def test_with_data_from_the_start(namespace: Namespace):
    created = namespace.create_materialized_view("ids", **IDS, with_no_data=False)

    assert ended(namespace, created.job_id).status == "SUCCEEDED"
    assert rows(namespace, "ids") == [{"id": 1}, {"id": 2}, {"id": 3}]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT id FROM sales.orders", "source_query is not JSON"),
        ('["SELECT 1"]', "must be a JSON object of version 1"),
        ('{"version": 2, "sql": "SELECT 1"}', "must be a JSON object of version 1"),
        ('{"version": 1}', "lacks the field 'sql'"),
        ('{"version": 1, "sql": "SELECT 1", "engine": "x"}', "does not know the field 'engine'"),
        ('{"version": 1, "sql": "SELECT 1", "dialect": "spark"}', "dialect 'spark'"),
        ('{"version": 1, "sql": " "}', "must be a SELECT statement"),
        (write_query("SELECT 1 AS id"), "reads no table"),
        (write_query("DROP TABLE sales.orders"), "is not a query"),
        (write_query("EXPLAIN SELECT id FROM sales.orders"), "keeps the rows of a SELECT"),
        (write_query("SELECT id FROM sales.orders WHERE"), "SQL"),
        (write_query("SELECT id FROM at_version('sales.orders', 1)"), "at_version"),
    ],
)
def test_queries_that_are_none(namespace: Namespace, query: str, message: str):
    with pytest.raises(InvalidInputError, match=message):
        namespace.create_materialized_view("v", **{**IDS, "source_query": query})
    assert not namespace.table("v").exists()


@pytest.mark.parametrize(
    ("sql", "error"),
    [("SELECT id FROM sales.nothing", TableNotFoundError), ("SELECT nothing FROM people", TableColumnNotFoundError)],
)
def test_queries_of_what_is_not_there(namespace: Namespace, sql: str, error: type[LanceNamespaceError]):
    with pytest.raises(error, match="nothing"):
        namespace.create_materialized_view("v", **{**IDS, "source_query": write_query(sql)})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (schema(id=pa.int64(), name=pa.string()), "The query yields no column 'name', which output_schema has"),
        (schema(name=pa.string()), "no column 'name'"),
        (schema(id=pa.int32()), "The query yields a column 'id' that is int64, and in output_schema it is int32"),
        (pa.schema([]), "must have columns"),
    ],
)
def test_schemas_that_the_query_does_not_have(namespace: Namespace, columns: pa.Schema, message: str):
    with pytest.raises(TableSchemaValidationError, match=message):
        namespace.create_materialized_view("v", **{**IDS, "output_schema": write_schema(columns)})


def test_a_schema_that_leaves_a_column_out(namespace: Namespace):
    fields = views.query_view("SELECT id, total FROM sales.orders", schema(id=pa.int64()))
    with pytest.raises(TableSchemaValidationError, match="a column 'total' that output_schema does not have"):
        namespace.create_materialized_view("v", **fields)


def test_large_strings_and_another_order_are_the_same_columns(namespace: Namespace):
    columns = schema(note=pa.large_string(), id=pa.int64())
    namespace.create_materialized_view("v", **views.query_view("SELECT id, note FROM sales.orders", columns))
    refresh(namespace, "v")

    assert namespace.table("v").to_arrow().schema.names == ["note", "id"]
    assert rows(namespace, "v")[0] == {"note": "note 1", "id": 1}


def test_the_name_must_be_free(namespace: Namespace):
    namespace.create_materialized_view("ids", **IDS)
    for name in ("ids", "people"):
        with pytest.raises(TableAlreadyExistsError):
            namespace.create_materialized_view(name, **IDS)
    assert namespace.table("people").count() == 3


def test_what_is_left_of_an_interrupted_create_is_taken_up(namespace: Namespace, monkeypatch: pytest.MonkeyPatch):
    import lance

    with monkeypatch.context() as broken:
        broken.setattr(lance.LanceDataset, "update_metadata", _fail)
        with pytest.raises(LanceNamespaceError, match="the network is down"):
            namespace.create_materialized_view("ids", **IDS)
    assert namespace.table("ids").exists()

    other = views.query_view("SELECT id FROM people", schema(id=pa.int64()))
    with pytest.raises(TableAlreadyExistsError):
        namespace.create_materialized_view("ids", **other)
    namespace.create_materialized_view("ids", **IDS)
    refresh(namespace, "ids")

    assert len(rows(namespace, "ids")) == 3


def _fail(*_: object) -> None:
    raise OSError("the network is down")


def test_a_wrapper_may_forbid_a_source(namespace: Namespace):
    class Secretive:
        @hookimpl(wrapper=True)
        def describe_table(self, request: DescribeTableRequest):
            if request.id == ["people"]:
                raise PermissionDeniedError("not for you")
            return (yield)

    register(namespace._connection._manager, Secretive(), "secretive")
    with pytest.raises(PermissionDeniedError, match="not for you"):
        namespace.create_materialized_view("v", **views.query_view("SELECT id FROM people", schema(id=pa.int64())))
    assert not namespace.table("v").exists()


def test_without_the_plugin_for_sql_the_pip_line_is_told(namespace: Namespace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "lancespace_sql", None)
    monkeypatch.delitem(sys.modules, "lancespace_sql.pinned", raising=False)

    with pytest.raises(UnsupportedOperationError, match=r'pip install "lancespace\[sql\]"'):
        namespace.create_materialized_view("ids", **IDS)

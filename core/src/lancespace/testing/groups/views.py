"""Materialized views: tables that keep the result of a query over others."""

from __future__ import annotations

import json
from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.examples import TABLE, VIEW
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import Feature, covers, needs
from lancespace.testing.samples import COUNT, sample
from lancespace.testing.waiting import until

_FINAL = {"succeeded", "failed", "canceled"}


class ViewTests(BackendFixtures):
    """CreateMaterializedView, RefreshMaterializedView, and what views ask of other operations."""

    @covers("create_materialized_view")
    @needs("create_table", "table_exists")
    def test_create_view(self, client: Client) -> None:
        """CreateMaterializedView: the view is a table of its name, and without data unless asked for."""
        client.prepare("create_materialized_view")
        made = client.example("create_materialized_view")
        assert made.version >= 0
        assert made.job_id is None
        client("table_exists", id=VIEW)

    @needs("create_materialized_view", "create_table", "describe_transaction", "query_table", Feature.SQL_VIEWS)
    def test_create_view_with_data(self, client: Client) -> None:
        """CreateMaterializedView: with ``with_no_data`` false, the job that brings the first rows is in the answer."""
        client.prepare("create_materialized_view")
        job = client.example("create_materialized_view", with_no_data=False).job_id
        assert _finished(client, job).status.lower() == "succeeded"
        assert client.rows(VIEW) == sample().to_pylist()

    @covers("create_materialized_view", "TABLE_ALREADY_EXISTS", "TABLE_SCHEMA_VALIDATION_ERROR", "INVALID_INPUT")
    @covers("create_materialized_view", "NAMESPACE_NOT_FOUND")
    @needs("create_table")
    def test_create_view_refused(self, client: Client) -> None:
        """CreateMaterializedView: code 5, 1, 20 for what is no schema, 13 for a kind that lacks its function."""
        client.prepare("create_materialized_view")
        client.example("create_materialized_view", ["there"])
        for code, fields in (
            ("TABLE_ALREADY_EXISTS", {"id": ["there"]}),
            ("NAMESPACE_NOT_FOUND", {"id": ["absent", "view"]}),
            ("TABLE_SCHEMA_VALIDATION_ERROR", {"output_schema": "bm8gc2NoZW1h"}),
            ("INVALID_INPUT", {"kind": "udtf"}),
        ):
            with client.unchanged(), raises(code):
                client.example("create_materialized_view", **fields)

    @covers("create_materialized_view", "TABLE_NOT_FOUND", "INVALID_INPUT")
    @needs("create_table", Feature.SQL_VIEWS)
    def test_create_view_of_what_is_not_there(self, client: Client) -> None:
        """CreateMaterializedView: code 4 for a source that does not exist, 13 for what is no query."""
        client.prepare("create_materialized_view")
        for code, statement in (("TABLE_NOT_FOUND", "SELECT id FROM absent"), ("INVALID_INPUT", "SELECT id FROM")):
            with client.unchanged(), raises(code):
                client.example("create_materialized_view", source_query=_query(statement))

    @covers("refresh_materialized_view")
    @needs("create_table", "create_materialized_view", "describe_transaction")
    def test_refresh_view(self, client: Client) -> None:
        """RefreshMaterializedView: a job that DescribeTransaction knows and that comes to an end."""
        client.prepare("refresh_materialized_view")
        job = client.example("refresh_materialized_view").job_id
        assert _finished(client, job).status.lower() in _FINAL

    @needs("create_table", "insert_into_table", "delete_from_table", "create_materialized_view", "query_table")
    @needs("refresh_materialized_view", "describe_transaction", Feature.SQL_VIEWS)
    def test_refreshed_view_is_its_query(self, client: Client) -> None:
        """RefreshMaterializedView: after rows were added and deleted, the view has those of its source."""
        client.prepare("refresh_materialized_view")
        _refresh(client)
        client("insert_into_table", sample(COUNT, COUNT + 2), id=TABLE)
        client("delete_from_table", id=TABLE, predicate="id = 0")
        assert client.ids(VIEW) == list(range(COUNT))
        _refresh(client)
        assert client.rows(VIEW) == sample(1, COUNT + 2).to_pylist()

    @needs("create_table", "insert_into_table", "create_materialized_view", "query_table")
    @needs("refresh_materialized_view", "describe_transaction", Feature.SQL_VIEWS)
    def test_refresh_from_version(self, client: Client) -> None:
        """RefreshMaterializedView: with ``src_version``, from the source as it was then."""
        client.prepare("refresh_materialized_view")
        client("insert_into_table", sample(COUNT, COUNT + 2), id=TABLE)
        _refresh(client, src_version=1)
        assert client.ids(VIEW) == list(range(COUNT))

    @covers("refresh_materialized_view", "INVALID_INPUT")
    @needs("create_table", "create_materialized_view")
    def test_refresh_refused(self, client: Client) -> None:
        """RefreshMaterializedView: code 13 for a limit where there is no chunker, and for a table that is no view."""
        client.prepare("refresh_materialized_view")
        with client.unchanged(), raises("INVALID_INPUT"):
            client.example("refresh_materialized_view", output_limit=1)
        with client.unchanged(), raises("INVALID_INPUT"):
            client("refresh_materialized_view", id=TABLE)

    @covers("drop_table", "INVALID_TABLE_STATE")
    @covers("deregister_table", "INVALID_TABLE_STATE")
    @covers("rename_table", "INVALID_TABLE_STATE")
    @needs("create_table", "create_materialized_view", "table_exists", Feature.SQL_VIEWS)
    def test_source_of_view_stays(self, client: Client) -> None:
        """DropTable, DeregisterTable, RenameTable: code 19 for a table that a view is made from."""
        client.prepare("refresh_materialized_view")
        for operation in ("drop_table", "deregister_table", "rename_table"):
            with client.unchanged(), raises("INVALID_TABLE_STATE"):
                client.example(operation, TABLE)
        client("drop_table", id=VIEW)
        client("drop_table", id=TABLE)

    @covers("drop_namespace", "INVALID_TABLE_STATE")
    @needs("create_namespace", "create_table", "create_materialized_view", "list_tables", "drop_table")
    @needs(Feature.SQL_VIEWS, Feature.CASCADE)
    def test_cascade_and_views(self, client: Client) -> None:
        """DropNamespace: Cascade takes a view along with its source; code 19 if the view is elsewhere."""
        client("create_namespace", id=["space"])
        client("create_table", sample(), id=["space", "t"])
        query = _query("SELECT id, name, vector FROM space.t")
        for view in (["space", "inside"], ["outside"]):
            client.example("create_materialized_view", view, source_query=query)
        with client.unchanged(), raises("INVALID_TABLE_STATE"):
            client("drop_namespace", id=["space"], behavior="Cascade")
        client("drop_table", id=["outside"])
        client("drop_namespace", id=["space"], behavior="Cascade")
        assert client("list_tables", id=[]).tables == []

    @covers("insert_into_table", "UNSUPPORTED")
    @needs("create_table", "create_materialized_view", Feature.SQL_VIEWS)
    def test_view_is_not_written_to(self, client: Client) -> None:
        """InsertIntoTable: code 0 for a view, whose rows come from its query."""
        client.prepare("refresh_materialized_view")
        with client.unchanged(), raises("UNSUPPORTED"):
            client("insert_into_table", sample(), id=VIEW)


def _query(statement: str) -> str:
    return json.dumps({"version": 1, "sql": statement})


def _refresh(client: Client, **fields: Any) -> None:
    job = client.example("refresh_materialized_view", **fields).job_id
    assert _finished(client, job).status.lower() == "succeeded"


def _finished(client: Client, job: str | None) -> Any:
    assert job is not None
    return until(lambda: client("describe_transaction", id=[job]), lambda found: found.status.lower() in _FINAL)

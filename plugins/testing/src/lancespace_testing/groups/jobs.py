"""Long work: backfills, materialized views, and the transactions by which it is watched."""

from __future__ import annotations

import json
from typing import Any

from lancespace_testing.client import Client, raises
from lancespace_testing.examples import TABLE, VIEW
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import Feature, answering, covers, for_each, needs
from lancespace_testing.samples import COUNT, sample


class JobTests(BackendFixtures):
    """AlterTableBackfillColumns, DescribeTransaction, AlterTransaction, and the views that jobs refresh."""

    @for_each(answering("TRANSACTION_NOT_FOUND"), "TRANSACTION_NOT_FOUND")
    def test_missing_transaction(self, client: Client, operation: str) -> None:
        """DescribeTransaction, AlterTransaction: code 10 for an id that nobody knows."""
        client.refuses_example("TRANSACTION_NOT_FOUND", operation)

    @covers("alter_table_backfill_columns", "describe_transaction")
    def test_backfill(self, client: Client) -> None:
        """AlterTableBackfillColumns: a job fills the computed column, and DescribeTransaction tells when it is done."""
        job = _start_backfill(client)
        assert client.finished(job) == "succeeded"
        assert [each["twice"] for each in client.rows()] == [number * 2 for number in range(COUNT)]

    @covers("alter_table_backfill_columns")
    def test_backfill_where(self, client: Client) -> None:
        """AlterTableBackfillColumns: with ``where``, the other rows stay as they are; a repeat fills the rest."""
        assert client.finished(_start_backfill(client, where="id < 3")) == "succeeded"
        assert [each["twice"] for each in client.rows()] == [0, 2, 4, *[None] * (COUNT - 3)]
        job = client("alter_table_backfill_columns", column="twice", where="twice IS NULL").job_id
        assert client.finished(job) == "succeeded"
        assert [each["twice"] for each in client.rows()] == [number * 2 for number in range(COUNT)]

    @covers("alter_table_backfill_columns", "TABLE_COLUMN_NOT_FOUND", "INVALID_INPUT")
    def test_backfill_refused(self, table: Client) -> None:
        """AlterTableBackfillColumns: code 13 or 12 for a bad filter, before there is a job."""
        table("alter_table_add_columns", new_columns=[{"name": "twice", "computed": "id * 2"}])
        for code, where in (("INVALID_INPUT", "id = )"), ("TABLE_COLUMN_NOT_FOUND", "absent = 1")):
            table.refuses(code, "alter_table_backfill_columns", column="twice", where=where)

    @covers("alter_transaction")
    def test_alter_transaction(self, client: Client) -> None:
        """AlterTransaction: a job that is canceled comes to an end: canceled or, if it was faster, succeeded."""
        job = _start_backfill(client)
        client("alter_transaction", id=[job], actions=[{"setStatusAction": {"status": "Canceled"}}])
        assert client.finished(job) in {"canceled", "succeeded"}

    @covers("alter_transaction", "INVALID_INPUT")
    def test_alter_transaction_refused(self, client: Client) -> None:
        """AlterTransaction: code 13 for a status that the spec does not know."""
        job = _start_backfill(client)
        with raises("INVALID_INPUT"):
            client("alter_transaction", id=[job], actions=[{"setStatusAction": {"status": "perhaps"}}])
        client.finished(job)

    @covers("alter_transaction", "INVALID_INPUT")
    @covers("describe_transaction")
    def test_properties_of_transaction(self, client: Client) -> None:
        """AlterTransaction: properties are set and unset by their modes, all actions of a request or none."""
        job = _start_backfill(client)
        client("alter_transaction", id=[job], actions=[_set("team", "x"), _set("note", "y")])
        for actions in (
            [_set("more", "z"), _set("team", "y", "Fail")],
            [_set("more", "z"), {"unsetPropertyAction": {"key": "absent", "mode": "FAIL"}}],
        ):
            with raises("INVALID_INPUT"):
                client("alter_transaction", id=[job], actions=actions)
        unset = [{"unsetPropertyAction": {"key": key}} for key in ("note", "absent")]
        client("alter_transaction", id=[job], actions=[_set("team", "y", "skip"), _set("team", "z"), *unset])
        client.finished(job)
        found = client("describe_transaction", id=[job]).properties
        assert (found["team"], "note" in found, "more" in found) == ("z", False, False)

    @covers("describe_transaction", "TRANSACTION_NOT_FOUND")
    @covers("alter_transaction", "INVALID_INPUT")
    def test_commits(self, table: Client) -> None:
        """DescribeTransaction: a commit of a table by version or by uuid; it is over, and cannot be altered."""
        table("insert_into_table", sample())
        found = table("describe_transaction", id=["t", "2"])
        assert found.status.lower() == "succeeded"
        assert (found.properties["operation"], found.properties["read_version"]) == ("Append", "1")
        assert table("describe_transaction", id=["t", found.properties["uuid"]]).properties == found.properties
        table.refuses_example("INVALID_INPUT", "alter_transaction", ["t", "2"])
        for names in (["t", "3"], ["absent", "1"], ["t", "00000000-0000-4000-8000-000000000000"], ["1"]):
            table.refuses("TRANSACTION_NOT_FOUND", "describe_transaction", id=names)

    @covers("create_materialized_view")
    def test_create_view(self, client: Client) -> None:
        """CreateMaterializedView: the view is a table of its name, and without data unless asked for."""
        client.prepare("create_materialized_view")
        made = client.example("create_materialized_view")
        assert made.version >= 0
        assert made.job_id is None
        client("table_exists", id=VIEW)

    @needs(Feature.SQL_VIEWS)
    def test_create_view_with_data(self, client: Client) -> None:
        """CreateMaterializedView: with ``with_no_data`` false, the job that brings the first rows is in the answer."""
        client.prepare("create_materialized_view")
        job = client.example("create_materialized_view", with_no_data=False).job_id
        assert client.finished(job) == "succeeded"
        assert client.rows(VIEW) == sample().to_pylist()

    @covers("create_materialized_view", "TABLE_ALREADY_EXISTS", "TABLE_SCHEMA_VALIDATION_ERROR", "INVALID_INPUT")
    @covers("create_materialized_view", "NAMESPACE_NOT_FOUND")
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
            client.refuses_example(code, "create_materialized_view", **fields)

    @covers("create_materialized_view", "TABLE_NOT_FOUND", "INVALID_INPUT")
    @needs(Feature.SQL_VIEWS)
    def test_create_view_of_what_is_not_there(self, client: Client) -> None:
        """CreateMaterializedView: code 4 for a source that does not exist, 13 for what is no query."""
        client.prepare("create_materialized_view")
        for code, statement in (("TABLE_NOT_FOUND", "SELECT id FROM absent"), ("INVALID_INPUT", "SELECT id FROM")):
            client.refuses_example(code, "create_materialized_view", source_query=_query(statement))

    @covers("refresh_materialized_view")
    def test_refresh_view(self, client: Client) -> None:
        """RefreshMaterializedView: a job that DescribeTransaction knows and that comes to an end."""
        client.prepare("refresh_materialized_view")
        job = client.example("refresh_materialized_view").job_id
        assert client.finished(job)

    @needs(Feature.SQL_VIEWS)
    def test_refreshed_view_is_its_query(self, client: Client) -> None:
        """RefreshMaterializedView: after rows were added and deleted, the view has those of its source."""
        client.prepare("refresh_materialized_view")
        _refresh(client)
        client("insert_into_table", sample(COUNT, COUNT + 2), id=TABLE)
        client("delete_from_table", id=TABLE, predicate="id = 0")
        assert client.ids(VIEW) == list(range(COUNT))
        _refresh(client)
        assert client.rows(VIEW) == sample(1, COUNT + 2).to_pylist()

    @needs(Feature.SQL_VIEWS)
    def test_refresh_from_version(self, client: Client) -> None:
        """RefreshMaterializedView: with ``src_version``, from the source as it was then."""
        client.prepare("refresh_materialized_view")
        client("insert_into_table", sample(COUNT, COUNT + 2), id=TABLE)
        _refresh(client, src_version=1)
        assert client.ids(VIEW) == list(range(COUNT))

    @covers("refresh_materialized_view", "INVALID_INPUT")
    def test_refresh_refused(self, client: Client) -> None:
        """RefreshMaterializedView: code 13 for a limit where there is no chunker, and for a table that is no view."""
        client.prepare("refresh_materialized_view")
        client.refuses_example("INVALID_INPUT", "refresh_materialized_view", output_limit=1)
        client.refuses("INVALID_INPUT", "refresh_materialized_view", id=TABLE)

    @covers("drop_table", "deregister_table", "rename_table", "INVALID_TABLE_STATE")
    @needs(Feature.SQL_VIEWS)
    def test_source_of_view_stays(self, client: Client) -> None:
        """DropTable, DeregisterTable, RenameTable: code 19 for a table that a view is made from."""
        client.prepare("refresh_materialized_view")
        for operation in ("drop_table", "deregister_table", "rename_table"):
            client.refuses_example("INVALID_TABLE_STATE", operation, TABLE)
        client("drop_table", id=VIEW)
        client("drop_table", id=TABLE)

    @covers("drop_namespace", "INVALID_TABLE_STATE")
    @needs(Feature.SQL_VIEWS, Feature.CASCADE)
    def test_cascade_and_views(self, client: Client) -> None:
        """DropNamespace: Cascade takes a view along with its source; code 19 if the view is elsewhere."""
        client("create_namespace", id=["space"])
        client("create_table", sample(), id=["space", "t"])
        query = _query("SELECT id, name, vector FROM space.t")
        for view in (["space", "inside"], ["outside"]):
            client.example("create_materialized_view", view, source_query=query)
        client.refuses("INVALID_TABLE_STATE", "drop_namespace", id=["space"], behavior="Cascade")
        client("drop_table", id=["outside"])
        client("drop_namespace", id=["space"], behavior="Cascade")
        assert client("list_tables", id=[]).tables == []

    @covers("insert_into_table", "UNSUPPORTED")
    @needs(Feature.SQL_VIEWS)
    def test_view_is_not_written_to(self, client: Client) -> None:
        """InsertIntoTable: code 0 for a view, whose rows come from its query."""
        client.prepare("refresh_materialized_view")
        client.refuses("UNSUPPORTED", "insert_into_table", sample(), id=VIEW)


def _set(key: str, value: str, mode: str | None = None) -> dict[str, Any]:
    return {"setPropertyAction": {"key": key, "value": value, "mode": mode}}


def _start_backfill(client: Client, **fields: Any) -> str:
    client("create_table", sample())
    client("alter_table_add_columns", new_columns=[{"name": "twice", "computed": "id * 2"}])
    job: str = client("alter_table_backfill_columns", column="twice", **fields).job_id
    return job


def _query(statement: str) -> str:
    return json.dumps({"version": 1, "sql": statement})


def _refresh(client: Client, **fields: Any) -> None:
    job = client.example("refresh_materialized_view", **fields).job_id
    assert client.finished(job) == "succeeded"

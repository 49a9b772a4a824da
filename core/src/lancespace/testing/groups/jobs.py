"""Long work: backfills, materialized views, and the transactions by which it is watched."""

from __future__ import annotations

from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.examples import VIEW
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, sample
from lancespace.testing.waiting import until

_FINAL = {"succeeded", "failed", "canceled"}


class JobTests(BackendFixtures):
    """AlterTableBackfillColumns, Create- and RefreshMaterializedView, DescribeTransaction, AlterTransaction."""

    @covers("describe_transaction", "TRANSACTION_NOT_FOUND")
    @needs()
    def test_missing_transaction(self, client: Client) -> None:
        """DescribeTransaction: code 10 for an id that nobody knows."""
        with raises("TRANSACTION_NOT_FOUND"):
            client.example("describe_transaction")

    @covers("alter_transaction", "TRANSACTION_NOT_FOUND")
    @needs()
    def test_alter_missing_transaction(self, client: Client) -> None:
        """AlterTransaction: code 10 for an id that nobody knows."""
        with raises("TRANSACTION_NOT_FOUND"):
            client.example("alter_transaction")

    @covers("alter_table_backfill_columns")
    @covers("describe_transaction")
    @needs("create_table", "alter_table_add_columns", "query_table")
    def test_backfill(self, client: Client) -> None:
        """AlterTableBackfillColumns: a job fills the computed column, and DescribeTransaction tells when it is done."""
        job = _start_backfill(client)
        assert _finished(client, job).status.lower() == "succeeded"
        assert [each["twice"] for each in client.rows(["t"])] == [number * 2 for number in range(COUNT)]

    @covers("alter_table_backfill_columns", "INVALID_INPUT")
    @needs("create_table")
    def test_backfill_of_plain_column(self, client: Client) -> None:
        """AlterTableBackfillColumns: code 13 for a column that is neither virtual nor computed."""
        client("create_table", sample(), id=["t"])
        with client.unchanged(), raises("INVALID_INPUT"):
            client("alter_table_backfill_columns", id=["t"], column="name")

    @covers("alter_transaction")
    @needs("create_table", "alter_table_add_columns", "alter_table_backfill_columns", "describe_transaction")
    def test_alter_transaction(self, client: Client) -> None:
        """AlterTransaction: a job that is canceled comes to an end: canceled or, if it was faster, succeeded."""
        job = _start_backfill(client)
        client("alter_transaction", id=[job], actions=[{"setStatusAction": {"status": "Canceled"}}])
        assert _finished(client, job).status.lower() in {"canceled", "succeeded"}

    @covers("alter_transaction", "INVALID_INPUT")
    @needs("create_table", "alter_table_add_columns", "alter_table_backfill_columns", "describe_transaction")
    def test_alter_transaction_refused(self, client: Client) -> None:
        """AlterTransaction: code 13 for a status that the spec does not know."""
        job = _start_backfill(client)
        with raises("INVALID_INPUT"):
            client("alter_transaction", id=[job], actions=[{"setStatusAction": {"status": "perhaps"}}])
        _finished(client, job)

    @covers("create_materialized_view")
    @needs("table_exists")
    def test_create_view(self, client: Client) -> None:
        """CreateMaterializedView: the view is a table of its name, and without data unless asked for."""
        made = client.example("create_materialized_view")
        assert made.version >= 0
        assert made.job_id is None
        client("table_exists", id=VIEW)

    @covers("create_materialized_view", "TABLE_ALREADY_EXISTS", "TABLE_SCHEMA_VALIDATION_ERROR", "INVALID_INPUT")
    @covers("create_materialized_view", "NAMESPACE_NOT_FOUND")
    @needs()
    def test_create_view_refused(self, client: Client) -> None:
        """CreateMaterializedView: code 5, 1, 20 for what is no schema, 13 for a kind that lacks its function."""
        client.example("create_materialized_view", ["there"])
        for code, fields in (
            ("TABLE_ALREADY_EXISTS", {"id": ["there"]}),
            ("NAMESPACE_NOT_FOUND", {"id": ["absent", "view"]}),
            ("TABLE_SCHEMA_VALIDATION_ERROR", {"output_schema": "bm8gc2NoZW1h"}),
            ("INVALID_INPUT", {"kind": "udtf"}),
        ):
            with client.unchanged(), raises(code):
                client.example("create_materialized_view", **fields)

    @covers("refresh_materialized_view")
    @needs("create_materialized_view", "describe_transaction")
    def test_refresh_view(self, client: Client) -> None:
        """RefreshMaterializedView: a job that DescribeTransaction knows and that comes to an end."""
        client.example("create_materialized_view")
        job = client.example("refresh_materialized_view").job_id
        assert _finished(client, job).status.lower() in _FINAL


def _start_backfill(client: Client) -> str:
    client("create_table", sample(), id=["t"])
    client("alter_table_add_columns", id=["t"], new_columns=[{"name": "twice", "computed": "id * 2"}])
    job: str = client("alter_table_backfill_columns", id=["t"], column="twice").job_id
    return job


def _finished(client: Client, job: str) -> Any:
    return until(lambda: client("describe_transaction", id=[job]), lambda found: found.status.lower() in _FINAL)

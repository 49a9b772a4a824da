"""Long work: backfills, and the transactions by which it is watched."""

from __future__ import annotations

from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, sample
from lancespace.testing.waiting import until

_FINAL = {"succeeded", "failed", "canceled"}


class JobTests(BackendFixtures):
    """AlterTableBackfillColumns, DescribeTransaction, AlterTransaction."""

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

    @covers("alter_table_backfill_columns")
    @needs("create_table", "alter_table_add_columns", "describe_transaction", "query_table")
    def test_backfill_where(self, client: Client) -> None:
        """AlterTableBackfillColumns: with ``where``, the other rows stay as they are; a repeat fills the rest."""
        assert _finished(client, _start_backfill(client, where="id < 3")).status.lower() == "succeeded"
        assert [each["twice"] for each in client.rows(["t"])] == [0, 2, 4, *[None] * (COUNT - 3)]
        job = client("alter_table_backfill_columns", id=["t"], column="twice", where="twice IS NULL").job_id
        assert _finished(client, job).status.lower() == "succeeded"
        assert [each["twice"] for each in client.rows(["t"])] == [number * 2 for number in range(COUNT)]

    @covers("alter_table_backfill_columns", "TABLE_COLUMN_NOT_FOUND", "INVALID_INPUT")
    @needs("create_table", "alter_table_add_columns")
    def test_backfill_refused(self, client: Client) -> None:
        """AlterTableBackfillColumns: code 13 or 12 for a bad filter, before there is a job."""
        client("create_table", sample(), id=["t"])
        client("alter_table_add_columns", id=["t"], new_columns=[{"name": "twice", "computed": "id * 2"}])
        for code, where in (("INVALID_INPUT", "id = )"), ("TABLE_COLUMN_NOT_FOUND", "absent = 1")):
            with client.unchanged(), raises(code):
                client("alter_table_backfill_columns", id=["t"], column="twice", where=where)

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

    @covers("alter_transaction", "INVALID_INPUT")
    @covers("describe_transaction")
    @needs("create_table", "alter_table_add_columns", "alter_table_backfill_columns")
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
        found = _finished(client, job).properties
        assert (found["team"], "note" in found, "more" in found) == ("z", False, False)

    @covers("describe_transaction", "TRANSACTION_NOT_FOUND")
    @covers("alter_transaction", "INVALID_INPUT")
    @needs("create_table", "insert_into_table")
    def test_commits(self, client: Client) -> None:
        """DescribeTransaction: a commit of a table by version or by uuid; it is over, and cannot be altered."""
        client("create_table", sample(), id=["t"])
        client("insert_into_table", sample(), id=["t"])
        found = client("describe_transaction", id=["t", "2"])
        assert found.status.lower() == "succeeded"
        assert (found.properties["operation"], found.properties["read_version"]) == ("Append", "1")
        assert client("describe_transaction", id=["t", found.properties["uuid"]]).properties == found.properties
        with raises("INVALID_INPUT"):
            client.example("alter_transaction", ["t", "2"])
        for names in (["t", "3"], ["absent", "1"], ["t", "00000000-0000-4000-8000-000000000000"], ["1"]):
            with raises("TRANSACTION_NOT_FOUND"):
                client("describe_transaction", id=names)


def _set(key: str, value: str, mode: str | None = None) -> dict[str, Any]:
    return {"setPropertyAction": {"key": key, "value": value, "mode": mode}}


def _start_backfill(client: Client, **fields: Any) -> str:
    client("create_table", sample(), id=["t"])
    client("alter_table_add_columns", id=["t"], new_columns=[{"name": "twice", "computed": "id * 2"}])
    job: str = client("alter_table_backfill_columns", id=["t"], column="twice", **fields).job_id
    return job


def _finished(client: Client, job: str) -> Any:
    return until(lambda: client("describe_transaction", id=[job]), lambda found: found.status.lower() in _FINAL)

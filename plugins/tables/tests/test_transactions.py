"""Transactions: the jobs and the commits of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TransactionNotFoundError

from lancespace import connect
from lancespace_tables import _transactions as transactions
from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace import Namespace


@pytest.fixture(scope="module")
def namespace() -> Iterator[Namespace]:
    """A table at version 3, whose last commit has properties."""
    with connect("memory") as namespace:
        namespace.create_table("t", [{"id": 1}])
        namespace.alter_table_add_columns("t", new_columns=[{"name": "twice", "computed": "id * 2"}])
        location = namespace.describe_table("t").location
        lance.write_dataset(pa.table({"id": [2]}), location, mode="append", commit_message="more")
        yield namespace


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> str:
    job: str = namespace.alter_table_backfill_columns("t", column="twice").job_id
    until(lambda: namespace.describe_transaction(job).status, lambda status: status == "SUCCEEDED")
    return job


def told(namespace: Namespace, identifier: str | list[str]) -> dict[str, str]:
    properties = namespace.describe_transaction(identifier).properties
    assert properties is not None
    return properties


def alter(namespace: Namespace, job: str, *actions: Any) -> Any:
    return namespace.alter_transaction(job, actions=list(actions))


def put(key: Any, value: Any = "x", mode: str | None = None) -> Any:
    return {"set_property_action": {"key": key, "value": value, "mode": mode}}


class TestCommits:
    def test_by_version(self, namespace: Namespace):
        assert namespace.describe_transaction(["t", "3"]).status == "SUCCEEDED"
        found = told(namespace, ["t", "3"])
        assert (found["operation"], found["version"], found["read_version"]) == ("Append", "3", "2")
        assert found["__lance_commit_message"] == "more"
        assert found["committed_at"].endswith("+00:00")

    def test_by_uuid(self, namespace: Namespace, monkeypatch: pytest.MonkeyPatch):
        oldest, latest = (told(namespace, ["t", version]) for version in ("1", "3"))
        assert told(namespace, ["t", oldest["uuid"]]) == oldest
        assert told(namespace, ["t", latest["uuid"].upper()]) == latest

        monkeypatch.setattr(transactions, "SEARCHED", 2)
        with pytest.raises(TransactionNotFoundError, match="among the latest 2 versions of table 't'"):
            namespace.describe_transaction(["t", oldest["uuid"]])

    def test_nothing_about_them_changes(self, namespace: Namespace):
        with pytest.raises(InvalidInputError, match=r"'t\.3' is committed, and final"):
            alter(namespace, ["t", "3"], put("note"))  # type: ignore[arg-type]

    @pytest.mark.parametrize("names", [["t"], ["t", "99"], ["t", "0"], ["u", "1"], ["no", "t", "1"], ["t", "1.5"]])
    def test_missing(self, namespace: Namespace, names: list[str]):
        with pytest.raises(TransactionNotFoundError):
            namespace.describe_transaction(names)


class TestJobs:
    def test_what_is_told(self, namespace: Namespace, job: str):
        found = told(namespace, ["any", "namespace", job])
        assert {"kind", "about", "fraction", "rows", "rows_per_second", "message", "owner"} <= found.keys()
        assert found["created_at"] <= found["started_at"] <= found["updated_at"]

    @pytest.mark.parametrize(
        ("actions", "words"),
        [
            ([put("kind")], "'kind' is a fact of the job itself"),
            ([put("started_at")], "'started_at' is a fact of the job itself"),
            ([put("")], "needs a key"),
            ([put("key", None)], "'key' needs a value"),
            ([put("key", mode="Maybe")], "mode must be one of Overwrite, Fail, Skip"),
            ([{}], "each action"),
            ([{"set_status_action": {"status": "Succeeded"}}], "the only status a job can be given is 'Canceled'"),
            ([{"set_status_action": {"status": "perhaps"}}], "status must be one of"),
            ([put("first"), {"set_status_action": {}}], "the only status"),
        ],
    )
    def test_bad_actions_change_nothing(self, namespace: Namespace, job: str, actions: Any, words: str):
        with pytest.raises(InvalidInputError, match=words):
            alter(namespace, job, *actions)
        assert "first" not in told(namespace, job)

    def test_cancelling_in_any_spelling_what_is_over(self, namespace: Namespace, job: str):
        assert alter(namespace, job, {"set_status_action": {"status": "Canceled"}}, put("why")).status == "SUCCEEDED"
        assert told(namespace, job)["why"] == "x"

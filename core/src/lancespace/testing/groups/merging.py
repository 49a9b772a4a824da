"""Merging rows into a table by key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, row, sample, table_of

_SOURCE = table_of([row(1, "new one"), row(2, "new two"), row(9, "new nine")])
"""Two rows whose ids are there already, and one whose is not."""


class MergingTests(BackendFixtures):
    """MergeInsertIntoTable."""

    @covers("merge_insert_into_table")
    @needs("create_table", "query_table")
    def test_merge_updates_and_inserts(self, client: Client) -> None:
        """MergeInsertIntoTable: matched rows are updated, others inserted, and both are counted in the answer."""
        done = _merge(client, when_matched_update_all=True, when_not_matched_insert_all=True)
        assert (done.num_updated_rows, done.num_inserted_rows, done.version) == (2, 1, 2)
        assert _names(client) == {**_sample_names(), 1: "new one", 2: "new two", 9: "new nine"}

    @needs("merge_insert_into_table", "create_table", "query_table")
    def test_merge_updates_only(self, client: Client) -> None:
        """MergeInsertIntoTable: without when_not_matched_insert_all, no row is inserted."""
        _merge(client, when_matched_update_all=True)
        assert _names(client) == {**_sample_names(), 1: "new one", 2: "new two"}

    @needs("merge_insert_into_table", "create_table", "query_table")
    def test_merge_inserts_only(self, client: Client) -> None:
        """MergeInsertIntoTable: without when_matched_update_all, no row is changed."""
        _merge(client, when_not_matched_insert_all=True)
        assert _names(client) == {**_sample_names(), 9: "new nine"}

    @needs("merge_insert_into_table", "create_table", "query_table")
    def test_merge_updates_under_a_condition(self, client: Client) -> None:
        """MergeInsertIntoTable: with when_matched_update_all_filt, only rows for which it is true are updated."""
        _merge(client, when_matched_update_all=True, when_matched_update_all_filt="target.name = 'red pear'")
        assert _names(client) == {**_sample_names(), 2: "new two"}

    @needs("merge_insert_into_table", "create_table", "query_table")
    def test_merge_deletes(self, client: Client) -> None:
        """MergeInsertIntoTable: with when_not_matched_by_source_delete, rows that the source lacks are deleted."""
        done = _merge(client, when_not_matched_insert_all=True, when_not_matched_by_source_delete=True)
        assert (done.num_inserted_rows, done.num_deleted_rows) == (1, COUNT - 2)
        assert _names(client) == {1: "green apple", 2: "red pear", 9: "new nine"}

    @needs("merge_insert_into_table", "create_table", "query_table")
    def test_merge_deletes_under_a_condition(self, client: Client) -> None:
        """MergeInsertIntoTable: with when_not_matched_by_source_delete_filt, only those for which it is true."""
        _merge(
            client,
            when_not_matched_insert_all=True,
            when_not_matched_by_source_delete=True,
            when_not_matched_by_source_delete_filt="id > 3",
        )
        assert sorted(_names(client)) == [0, 1, 2, 3, 9]

    @needs("merge_insert_into_table", "create_table", "query_table")
    def test_merge_on_several_columns(self, client: Client) -> None:
        """MergeInsertIntoTable: a row matches only when all the columns of `on` are equal."""
        client("create_table", sample(), id=["t"])
        source = table_of([row(1), row(2, "other name")])
        options = {"when_matched_update_all": True, "when_not_matched_insert_all": True}
        done = client("merge_insert_into_table", source, id=["t"], on=["id", "name"], **options)
        assert (done.num_updated_rows, done.num_inserted_rows) == (1, 1)
        assert client.ids(["t"]) == [0, 1, 2, 2, 3, 4, 5]

    @needs("merge_insert_into_table", "create_table", "query_table", "create_table_branch")
    def test_merge_into_branch(self, client: Client) -> None:
        """MergeInsertIntoTable: on a branch, only that branch changes."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("merge_insert_into_table", _SOURCE, id=["t"], branch="dev", on=["id"], when_not_matched_insert_all=True)
        assert client.ids(["t"], branch="dev") == [*range(COUNT), 9]
        assert client.ids(["t"]) == list(range(COUNT))

    @needs("merge_insert_into_table", "declare_table", "query_table")
    def test_merge_into_declared_table(self, client: Client) -> None:
        """MergeInsertIntoTable: into a declared table all rows are inserted, since there are none to merge with."""
        client("declare_table", id=["t"])
        client.example("merge_insert_into_table", ["t"])
        assert client.rows(["t"]) == sample().to_pylist()

    @needs("merge_insert_into_table", "create_table", "query_table")
    def test_merge_with_timeout(self, client: Client) -> None:
        """MergeInsertIntoTable: a timeout is written like 30s or 5m."""
        for timeout in ("30s", "5m"):
            client("create_table", sample(), id=[timeout])
            client.example("merge_insert_into_table", [timeout], timeout=timeout)
            assert client.ids([timeout]) == list(range(COUNT))

    @covers("merge_insert_into_table", "INVALID_INPUT", "TABLE_SCHEMA_VALIDATION_ERROR")
    @needs("create_table")
    def test_merge_refused(self, client: Client) -> None:
        """MergeInsertIntoTable: code 13 without `on`, for bad SQL or a bad stream; 20 for another schema."""
        client("create_table", sample(), id=["t"])
        other = pa.table({"id": [1], "something": ["else"]})
        for code, data, fields in (
            ("INVALID_INPUT", sample(), {"on": None}),
            ("INVALID_INPUT", sample(), {"when_matched_update_all_filt": "this is ( no SQL"}),
            ("INVALID_INPUT", b"no Arrow stream", {}),
            ("TABLE_SCHEMA_VALIDATION_ERROR", other, {}),
        ):
            asked = {"on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True, **fields}
            with client.unchanged(), raises(code):
                client("merge_insert_into_table", data, id=["t"], **asked)


def _merge(client: Client, **options: Any) -> Any:
    client("create_table", sample(), id=["t"])
    return client("merge_insert_into_table", _SOURCE, id=["t"], on=["id"], **options)


def _names(client: Client) -> dict[int, str]:
    return {found["id"]: found["name"] for found in client.rows(["t"])}


def _sample_names() -> dict[int, str]:
    return {found["id"]: found["name"] for found in sample().to_pylist()}

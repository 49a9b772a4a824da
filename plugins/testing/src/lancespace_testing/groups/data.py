"""Changing the rows of a table: insert, update, delete and merge, and counting them."""

from __future__ import annotations

from typing import Any

from lancespace_testing.client import Client
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import covers
from lancespace_testing.samples import COUNT, row, sample, table_of

_SOURCE = table_of([row(1, "new one"), row(2, "new two"), row(9, "new nine")])
"""Two rows whose ids are there already, and one whose is not."""


class DataTests(BackendFixtures):
    """InsertIntoTable, UpdateTable, DeleteFromTable, CountTableRows, MergeInsertIntoTable."""

    @covers("insert_into_table")
    def test_insert_appends(self, client: Client) -> None:
        """InsertIntoTable: by default and with Append, rows are added; the answer has their number and the version."""
        client("create_table", sample(0, 2))
        for number, mode in enumerate((None, "Append", "append")):
            start = 2 + number * 2
            done = client("insert_into_table", sample(start, start + 2), mode=mode)
            assert (done.num_inserted_rows, done.version) == (2, number + 2)
        assert client.rows() == sample(0, 8).to_pylist()

    def test_insert_overwrites(self, table: Client) -> None:
        """InsertIntoTable: with Overwrite, in any spelling, only the new rows are there."""
        for number, mode in enumerate(("Overwrite", "overwrite", "OVERWRITE")):
            table("insert_into_table", sample(number, number + 2), mode=mode)
            assert table.ids() == [number, number + 1]

    def test_insert_into_branch(self, client: Client) -> None:
        """InsertIntoTable: rows inserted into a branch are seen there and not on main."""
        client("create_table", sample(0, 2))
        client("create_table_branch", name="dev")
        client("insert_into_table", sample(2, 4), branch="dev")
        assert (client.ids(branch="dev"), client.ids()) == ([0, 1, 2, 3], [0, 1])

    def test_insert_into_declared_table(self, client: Client) -> None:
        """InsertIntoTable: the first rows of a declared table create it."""
        client("declare_table")
        client("insert_into_table", sample())
        assert client.rows() == sample().to_pylist()
        assert client("describe_table", check_declared=True).is_only_declared is False

    @covers("update_table")
    def test_update_table(self, table: Client) -> None:
        """UpdateTable: where the predicate holds, columns get the values of their expressions; the rest stays."""
        updates = [["name", "concat(name, '!')"], ["id", "id + 100"]]
        done = table("update_table", predicate="id < 2", updates=updates)
        assert (done.updated_rows, done.version) == (2, 2)
        found = table.rows(columns={"column_names": ["id", "name"]})
        changed = [{"id": 100, "name": "red apple!"}, {"id": 101, "name": "green apple!"}]
        assert found == [*({"id": n, "name": row(n)["name"]} for n in range(2, COUNT)), *changed]

    def test_update_all_rows_of_a_branch(self, table: Client) -> None:
        """UpdateTable: without a predicate, all rows are updated; on a branch, only that branch's."""
        table("create_table_branch", name="dev")
        done = table("update_table", branch="dev", updates=[["name", "'same'"]])
        assert done.updated_rows == COUNT
        assert {found["name"] for found in table.rows(branch="dev")} == {"same"}
        assert table.rows() == sample().to_pylist()

    @covers("delete_from_table")
    def test_delete_from_table(self, table: Client) -> None:
        """DeleteFromTable: the rows where the predicate holds are gone; the answer has the version."""
        assert table("delete_from_table", predicate="id >= 2 AND name LIKE '%pear'").version == 2
        assert table.ids() == [0, 1, 4, 5]

    def test_delete_from_branch(self, table: Client) -> None:
        """DeleteFromTable: on a branch, only that branch loses rows; a table may lose all of them."""
        table("create_table_branch", name="dev")
        table("delete_from_table", branch="dev", predicate="true")
        assert (table.ids(branch="dev"), table.ids()) == ([], list(range(COUNT)))

    @covers("count_table_rows")
    def test_count_table_rows(self, table: Client) -> None:
        """CountTableRows: all rows, those where the predicate holds, those of a version, those of a branch."""
        table("create_table_branch", name="dev")
        table("delete_from_table", predicate="id = 0")
        assert table("count_table_rows").count == COUNT - 1
        assert table("count_table_rows", predicate="id < 3").count == 2
        assert table("count_table_rows", version=1).count == COUNT
        assert table("count_table_rows", branch="dev").count == COUNT

    @covers("merge_insert_into_table")
    def test_merge_updates_and_inserts(self, client: Client) -> None:
        """MergeInsertIntoTable: matched rows are updated, others inserted, and both are counted in the answer."""
        done = _merge(client, when_matched_update_all=True, when_not_matched_insert_all=True)
        assert (done.num_updated_rows, done.num_inserted_rows, done.version) == (2, 1, 2)
        assert _names(client) == {**_sample_names(), 1: "new one", 2: "new two", 9: "new nine"}

    def test_merge_updates_only(self, client: Client) -> None:
        """MergeInsertIntoTable: without when_not_matched_insert_all, no row is inserted."""
        _merge(client, when_matched_update_all=True)
        assert _names(client) == {**_sample_names(), 1: "new one", 2: "new two"}

    def test_merge_inserts_only(self, client: Client) -> None:
        """MergeInsertIntoTable: without when_matched_update_all, no row is changed."""
        _merge(client, when_not_matched_insert_all=True)
        assert _names(client) == {**_sample_names(), 9: "new nine"}

    def test_merge_updates_under_a_condition(self, client: Client) -> None:
        """MergeInsertIntoTable: with when_matched_update_all_filt, only rows for which it is true are updated."""
        _merge(client, when_matched_update_all=True, when_matched_update_all_filt="target.name = 'red pear'")
        assert _names(client) == {**_sample_names(), 2: "new two"}

    def test_merge_deletes(self, client: Client) -> None:
        """MergeInsertIntoTable: with when_not_matched_by_source_delete, rows that the source lacks are deleted."""
        done = _merge(client, when_not_matched_insert_all=True, when_not_matched_by_source_delete=True)
        assert (done.num_inserted_rows, done.num_deleted_rows) == (1, COUNT - 2)
        assert _names(client) == {1: "green apple", 2: "red pear", 9: "new nine"}

    def test_merge_deletes_under_a_condition(self, client: Client) -> None:
        """MergeInsertIntoTable: with when_not_matched_by_source_delete_filt, only those for which it is true."""
        _merge(
            client,
            when_not_matched_insert_all=True,
            when_not_matched_by_source_delete=True,
            when_not_matched_by_source_delete_filt="id > 3",
        )
        assert sorted(_names(client)) == [0, 1, 2, 3, 9]

    def test_merge_on_several_columns(self, table: Client) -> None:
        """MergeInsertIntoTable: a row matches only when all the columns of `on` are equal."""
        source = table_of([row(1), row(2, "other name")])
        options = {"when_matched_update_all": True, "when_not_matched_insert_all": True}
        done = table("merge_insert_into_table", source, on=["id", "name"], **options)
        assert (done.num_updated_rows, done.num_inserted_rows) == (1, 1)
        assert table.ids() == [0, 1, 2, 2, 3, 4, 5]

    def test_merge_into_branch(self, table: Client) -> None:
        """MergeInsertIntoTable: on a branch, only that branch changes."""
        table("create_table_branch", name="dev")
        table("merge_insert_into_table", _SOURCE, branch="dev", on=["id"], when_not_matched_insert_all=True)
        assert table.ids(branch="dev") == [*range(COUNT), 9]
        assert table.ids() == list(range(COUNT))

    def test_merge_into_declared_table(self, client: Client) -> None:
        """MergeInsertIntoTable: into a declared table all rows are inserted, since there are none to merge with."""
        client("declare_table")
        client.example("merge_insert_into_table")
        assert client.rows() == sample().to_pylist()

    def test_merge_with_timeout(self, client: Client) -> None:
        """MergeInsertIntoTable: a timeout is written like 30s or 5m."""
        for timeout in ("30s", "5m"):
            client("create_table", sample(), id=[timeout])
            client.example("merge_insert_into_table", [timeout], timeout=timeout)
            assert client.ids([timeout]) == list(range(COUNT))


def _merge(client: Client, **options: Any) -> Any:
    client("create_table", sample())
    return client("merge_insert_into_table", _SOURCE, on=["id"], **options)


def _names(client: Client) -> dict[int, str]:
    return {found["id"]: found["name"] for found in client.rows()}


def _sample_names() -> dict[int, str]:
    return {found["id"]: found["name"] for found in sample().to_pylist()}

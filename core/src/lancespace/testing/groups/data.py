"""Changing the rows of a table: insert, update, delete, and counting them."""

from __future__ import annotations

import pyarrow as pa

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import COUNT, row, sample, stream


class DataTests(BackendFixtures):
    """InsertIntoTable, UpdateTable, DeleteFromTable, CountTableRows."""

    @covers("insert_into_table")
    @needs("create_table", "query_table")
    def test_insert_appends(self, client: Client) -> None:
        """InsertIntoTable: by default and with Append, rows are added; the answer has their number and the version."""
        client("create_table", sample(0, 2), id=["t"])
        for number, mode in enumerate((None, "Append", "append")):
            start = 2 + number * 2
            done = client("insert_into_table", sample(start, start + 2), id=["t"], mode=mode)
            assert (done.num_inserted_rows, done.version) == (2, number + 2)
        assert client.rows(["t"]) == sample(0, 8).to_pylist()

    @needs("insert_into_table", "create_table", "query_table")
    def test_insert_overwrites(self, client: Client) -> None:
        """InsertIntoTable: with Overwrite, in any spelling, only the new rows are there."""
        client("create_table", sample(), id=["t"])
        for number, mode in enumerate(("Overwrite", "overwrite", "OVERWRITE")):
            client("insert_into_table", sample(number, number + 2), id=["t"], mode=mode)
            assert client.ids(["t"]) == [number, number + 1]

    @needs("insert_into_table", "create_table", "query_table", "create_table_branch")
    def test_insert_into_branch(self, client: Client) -> None:
        """InsertIntoTable: rows inserted into a branch are seen there and not on main."""
        client("create_table", sample(0, 2), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(2, 4), id=["t"], branch="dev")
        assert (client.ids(["t"], branch="dev"), client.ids(["t"])) == ([0, 1, 2, 3], [0, 1])

    @needs("insert_into_table", "declare_table", "query_table", "describe_table")
    def test_insert_into_declared_table(self, client: Client) -> None:
        """InsertIntoTable: the first rows of a declared table create it."""
        client("declare_table", id=["t"])
        client("insert_into_table", sample(), id=["t"])
        assert client.rows(["t"]) == sample().to_pylist()
        assert client("describe_table", id=["t"], check_declared=True).is_only_declared is False

    @covers("insert_into_table", "INVALID_INPUT", "TABLE_SCHEMA_VALIDATION_ERROR")
    @needs("create_table")
    def test_insert_refused(self, client: Client) -> None:
        """InsertIntoTable: code 13 for an unknown mode or a bad stream, 20 for another schema; nothing changes."""
        client("create_table", sample(), id=["t"])
        broken = stream(sample(0, 2000), batch_rows=100)[:-2000]
        other = pa.table({"something": ["else"]})
        for code, data, mode in (
            ("INVALID_INPUT", stream(sample()), "perhaps"),
            ("INVALID_INPUT", b"no Arrow stream", None),
            ("INVALID_INPUT", broken, None),
            ("INVALID_INPUT", broken, "overwrite"),
            ("TABLE_SCHEMA_VALIDATION_ERROR", stream(other), None),
        ):
            with client.unchanged(), raises(code):
                client("insert_into_table", data, id=["t"], mode=mode)

    @covers("update_table")
    @needs("create_table", "query_table")
    def test_update_table(self, client: Client) -> None:
        """UpdateTable: where the predicate holds, columns get the values of their expressions; the rest stays."""
        client("create_table", sample(), id=["t"])
        updates = [["name", "concat(name, '!')"], ["id", "id + 100"]]
        done = client("update_table", id=["t"], predicate="id < 2", updates=updates)
        assert (done.updated_rows, done.version) == (2, 2)
        found = client.rows(["t"], columns={"column_names": ["id", "name"]})
        changed = [{"id": 100, "name": "red apple!"}, {"id": 101, "name": "green apple!"}]
        assert found == [*({"id": n, "name": row(n)["name"]} for n in range(2, COUNT)), *changed]

    @needs("update_table", "create_table", "query_table", "create_table_branch")
    def test_update_all_rows_of_a_branch(self, client: Client) -> None:
        """UpdateTable: without a predicate, all rows are updated; on a branch, only that branch's."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        done = client("update_table", id=["t"], branch="dev", updates=[["name", "'same'"]])
        assert done.updated_rows == COUNT
        assert {found["name"] for found in client.rows(["t"], branch="dev")} == {"same"}
        assert client.rows(["t"]) == sample().to_pylist()

    @covers("update_table", "INVALID_INPUT")
    @needs("create_table")
    def test_update_refused(self, client: Client) -> None:
        """UpdateTable: code 13 for an expression or a predicate that is no SQL; nothing changes."""
        client("create_table", sample(), id=["t"])
        for predicate, expression in (("id = = 1", "1"), (None, "this is ( no SQL")):
            with client.unchanged(), raises("INVALID_INPUT"):
                client("update_table", id=["t"], predicate=predicate, updates=[["id", expression]])

    @covers("delete_from_table")
    @needs("create_table", "query_table")
    def test_delete_from_table(self, client: Client) -> None:
        """DeleteFromTable: the rows where the predicate holds are gone; the answer has the version."""
        client("create_table", sample(), id=["t"])
        assert client("delete_from_table", id=["t"], predicate="id >= 2 AND name LIKE '%pear'").version == 2
        assert client.ids(["t"]) == [0, 1, 4, 5]

    @needs("delete_from_table", "create_table", "query_table", "create_table_branch")
    def test_delete_from_branch(self, client: Client) -> None:
        """DeleteFromTable: on a branch, only that branch loses rows; a table may lose all of them."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("delete_from_table", id=["t"], branch="dev", predicate="true")
        assert (client.ids(["t"], branch="dev"), client.ids(["t"])) == ([], list(range(COUNT)))

    @covers("delete_from_table", "INVALID_INPUT")
    @needs("create_table")
    def test_delete_refused(self, client: Client) -> None:
        """DeleteFromTable: code 13 for a predicate that is no SQL; nothing changes."""
        client("create_table", sample(), id=["t"])
        with client.unchanged(), raises("INVALID_INPUT"):
            client("delete_from_table", id=["t"], predicate="id = = 1")

    @covers("count_table_rows")
    @needs("create_table", "delete_from_table", "create_table_branch")
    def test_count_table_rows(self, client: Client) -> None:
        """CountTableRows: all rows, those where the predicate holds, those of a version, those of a branch."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("delete_from_table", id=["t"], predicate="id = 0")
        assert client("count_table_rows", id=["t"]).count == COUNT - 1
        assert client("count_table_rows", id=["t"], predicate="id < 3").count == 2
        assert client("count_table_rows", id=["t"], version=1).count == COUNT
        assert client("count_table_rows", id=["t"], branch="dev").count == COUNT

    @covers("count_table_rows", "INVALID_INPUT")
    @needs("create_table")
    def test_count_refused(self, client: Client) -> None:
        """CountTableRows: code 13 for a predicate that is no SQL."""
        client("create_table", sample(), id=["t"])
        with raises("INVALID_INPUT"):
            client("count_table_rows", id=["t"], predicate="id = = 1")

"""Branches: lines of versions that go on from a version of another one."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import sample


class BranchTests(BackendFixtures):
    """CreateTableBranch, ListTableBranches, DeleteTableBranch."""

    @covers("create_table_branch")
    @covers("list_table_branches")
    @needs("create_table", "query_table")
    def test_create_branch(self, client: Client) -> None:
        """CreateTableBranch: from the latest version of main by default; it is listed, main is not."""
        client("create_table", sample(), id=["t"])
        assert client("list_table_branches", id=["t"]).branches == {}
        client("create_table_branch", id=["t"], name="dev")
        branches = client("list_table_branches", id=["t"]).branches
        assert list(branches) == ["dev"]
        assert (branches["dev"].parent_branch, branches["dev"].parent_version) == (None, 1)
        assert client.rows(["t"], branch="dev") == sample().to_pylist()

    @needs("create_table_branch", "list_table_branches", "create_table", "insert_into_table", "query_table")
    def test_create_branch_from_version(self, client: Client) -> None:
        """CreateTableBranch: with from_version, from that version."""
        client("create_table", sample(0, 2), id=["t"])
        client("insert_into_table", sample(2, 4), id=["t"])
        client("create_table_branch", id=["t"], name="dev", from_version=1)
        assert client("list_table_branches", id=["t"]).branches["dev"].parent_version == 1
        assert client.ids(["t"], branch="dev") == [0, 1]

    @needs("create_table_branch", "list_table_branches", "create_table", "insert_into_table", "query_table")
    def test_create_branch_from_branch(self, client: Client) -> None:
        """CreateTableBranch: with from_branch, from the latest version of that branch."""
        client("create_table", sample(0, 2), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(2, 4), id=["t"], branch="dev")
        client("create_table_branch", id=["t"], name="dev2", from_branch="dev")
        branch = client("list_table_branches", id=["t"]).branches["dev2"]
        assert (branch.parent_branch, branch.parent_version) == ("dev", 2)
        assert client.ids(["t"], branch="dev2") == [0, 1, 2, 3]
        assert client.ids(["t"]) == [0, 1]

    @covers("create_table_branch", "TABLE_BRANCH_ALREADY_EXISTS")
    @needs("create_table", "insert_into_table", "query_table")
    def test_create_existing_branch(self, client: Client) -> None:
        """CreateTableBranch: code 23 if the branch exists, and it stays what it is."""
        client("create_table", sample(0, 2), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(2, 4), id=["t"])
        with client.unchanged(), raises("TABLE_BRANCH_ALREADY_EXISTS"):
            client("create_table_branch", id=["t"], name="dev")
        assert client.ids(["t"], branch="dev") == [0, 1]

    @covers("delete_table_branch")
    @needs("create_table", "create_table_branch", "list_table_branches", "query_table")
    def test_delete_branch(self, client: Client) -> None:
        """DeleteTableBranch: the branch is gone, main and the other branches are not."""
        client("create_table", sample(), id=["t"])
        for name in ("dev", "dev2"):
            client("create_table_branch", id=["t"], name=name)
        client("delete_table_branch", id=["t"], name="dev")
        assert list(client("list_table_branches", id=["t"]).branches) == ["dev2"]
        for branch in (None, "dev2"):
            assert client.rows(["t"], branch=branch) == sample().to_pylist()
        with raises("TABLE_BRANCH_NOT_FOUND"):
            client.rows(["t"], branch="dev")

    @covers("create_table_branch", "INVALID_INPUT")
    @needs("create_table")
    def test_bad_branch_name(self, client: Client) -> None:
        """CreateTableBranch: code 13 for a name that cannot be a branch."""
        client("create_table", sample(), id=["t"])
        for name in ("", "../up", "a b"):
            with client.unchanged(), raises("INVALID_INPUT"):
                client("create_table_branch", id=["t"], name=name)

"""Versions, the tags that name them, and the branches that start from them."""

from __future__ import annotations

from contextlib import suppress

from lance_namespace import TableVersionNotFoundError

from lancespace_testing.client import Client, raises
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import covers
from lancespace_testing.samples import sample


class VersionTests(BackendFixtures):
    """Versions, tags and branches: listing, describing, creating, restoring and deleting them."""

    @covers("list_table_versions")
    def test_list_versions(self, client: Client) -> None:
        """ListTableVersions: all versions with the paths of their manifests; latest first with descending."""
        _three_versions(client)
        found = client("list_table_versions", descending=True).versions
        assert [each.version for each in found] == [3, 2, 1]
        assert len({each.manifest_path for each in found}) == 3
        found = client("list_table_versions").versions
        assert sorted(each.version for each in found) == [1, 2, 3]

    def test_list_versions_of_declared_table(self, client: Client) -> None:
        """ListTableVersions: none for a table without data; clients that create one through the catalog ask first."""
        client("declare_table")
        assert client("list_table_versions").versions == []

    def test_list_versions_of_branch(self, table: Client) -> None:
        """ListTableVersions: on a branch, its own versions too, which main does not have."""
        table("create_table_branch", name="dev")
        table("insert_into_table", sample(), branch="dev")
        on_branch = table("list_table_versions", branch="dev", descending=True).versions
        assert on_branch[0].version == 2
        assert table.version() == 1

    @covers("describe_table_version")
    def test_describe_version(self, client: Client) -> None:
        """DescribeTableVersion: one of the listed versions, by default the latest."""
        _three_versions(client)
        listed = {each.version: each.manifest_path for each in client("list_table_versions").versions}
        for asked, expected in ((1, 1), (2, 2), (None, 3)):
            found = client("describe_table_version", version=asked).version
            assert (found.version, found.manifest_path) == (expected, listed[expected])

    @covers("restore_table")
    def test_restore_table(self, client: Client) -> None:
        """RestoreTable: the rows of the old version, in a new one; what was in between is not lost."""
        _three_versions(client)
        client("restore_table", version=1)
        assert client.ids() == [0, 1]
        assert client.version() == 4
        assert client.ids(version=3) == [0, 1, 2, 3, 4, 5]

    def test_restore_branch(self, client: Client) -> None:
        """RestoreTable: on a branch, only that branch goes back."""
        client("create_table", sample(0, 2))
        client("insert_into_table", sample(2, 4))
        client("create_table_branch", name="dev")
        client("insert_into_table", sample(4, 6), branch="dev")
        client("restore_table", branch="dev", version=2)
        assert client.ids(branch="dev") == [0, 1, 2, 3]
        assert client.ids() == [0, 1, 2, 3]

    @covers("batch_delete_table_versions")
    def test_delete_versions(self, client: Client) -> None:
        """BatchDeleteTableVersions: ranges without their end, counted; the latest version and its rows stay."""
        _three_versions(client)
        done = client("batch_delete_table_versions", ranges=[{"start_version": 0, "end_version": 2}])
        assert done.deleted_count == 1
        assert sorted(each.version for each in client("list_table_versions").versions) == [2, 3]
        ranges = [{"start_version": 2, "end_version": 3}]
        assert client("batch_delete_table_versions", ranges=ranges).deleted_count == 1
        assert client.ids() == [0, 1, 2, 3, 4, 5]

    @covers("batch_delete_table_versions", "TABLE_VERSION_NOT_FOUND")
    def test_delete_missing_versions(self, table: Client) -> None:
        """BatchDeleteTableVersions: code 11 if there are none in the range, or a count of 0: the spec allows either."""
        ranges = [{"start_version": 7, "end_version": 9}]
        with table.unchanged(), suppress(TableVersionNotFoundError):
            assert table("batch_delete_table_versions", ranges=ranges).deleted_count == 0

    @covers("batch_delete_table_versions", "INVALID_TABLE_STATE")
    def test_delete_tagged_version(self, client: Client) -> None:
        """BatchDeleteTableVersions: code 19 for a version that a tag names, which would name nothing afterwards."""
        _three_versions(client)
        client("create_table_tag", tag="first", version=1)
        client.refuses(
            "INVALID_TABLE_STATE", "batch_delete_table_versions", ranges=[{"start_version": 1, "end_version": 3}]
        )

    @covers("create_table_tag", "get_table_tag_version", "list_table_tags")
    def test_create_tag(self, table: Client) -> None:
        """CreateTableTag: the tag stands for its version, here and in the listing; later versions do not move it."""
        table("create_table_tag", tag="first", version=1)
        table("insert_into_table", sample())
        table("create_table_tag", tag="second", version=2)
        assert table("get_table_tag_version", tag="first").version == 1
        tags = table("list_table_tags").tags
        assert {name: tag.version for name, tag in tags.items()} == {"first": 1, "second": 2}
        assert all(tag.manifest_size > 0 for tag in tags.values())

    def test_tag_of_branch(self, table: Client) -> None:
        """CreateTableTag: a tag may stand for a version of a branch; the branch is absent when that is main."""
        table("create_table_branch", name="dev")
        table("insert_into_table", sample(), branch="dev")
        table("create_table_tag", tag="on-dev", branch="dev", version=2)
        table("create_table_tag", tag="on-main", version=1)
        found = table("get_table_tag_version", tag="on-dev")
        assert (found.branch, found.version) == ("dev", 2)
        assert table("get_table_tag_version", tag="on-main").branch is None

    @covers("create_table_tag", "TABLE_TAG_ALREADY_EXISTS")
    def test_create_existing_tag(self, table: Client) -> None:
        """CreateTableTag: code 9 if the tag exists, and it stays where it is."""
        table("insert_into_table", sample())
        table("create_table_tag", tag="first", version=1)
        for version in (1, 2):
            table.refuses("TABLE_TAG_ALREADY_EXISTS", "create_table_tag", tag="first", version=version)

    @covers("update_table_tag")
    def test_update_tag(self, table: Client) -> None:
        """UpdateTableTag: the tag stands for the other version."""
        table("insert_into_table", sample())
        table("create_table_tag", tag="moving", version=1)
        table("update_table_tag", tag="moving", version=2)
        assert table("get_table_tag_version", tag="moving").version == 2

    @covers("delete_table_tag")
    def test_delete_tag(self, table: Client) -> None:
        """DeleteTableTag: the tag is gone, the version it named is not."""
        table("create_table_tag", tag="first", version=1)
        table("delete_table_tag", tag="first")
        assert table("list_table_tags").tags == {}
        table.refuses("TABLE_TAG_NOT_FOUND", "get_table_tag_version", tag="first")
        assert table.rows(version=1) == sample().to_pylist()

    @covers("create_table_branch", "list_table_branches")
    def test_create_branch(self, table: Client) -> None:
        """CreateTableBranch: from the latest version of main by default; it is listed, main is not."""
        assert table("list_table_branches").branches == {}
        table("create_table_branch", name="dev")
        branches = table("list_table_branches").branches
        assert list(branches) == ["dev"]
        assert (branches["dev"].parent_branch, branches["dev"].parent_version) == (None, 1)
        assert table.rows(branch="dev") == sample().to_pylist()

    def test_create_branch_from_version(self, client: Client) -> None:
        """CreateTableBranch: with from_version, from that version."""
        client("create_table", sample(0, 2))
        client("insert_into_table", sample(2, 4))
        client("create_table_branch", name="dev", from_version=1)
        assert client("list_table_branches").branches["dev"].parent_version == 1
        assert client.ids(branch="dev") == [0, 1]

    def test_create_branch_from_branch(self, client: Client) -> None:
        """CreateTableBranch: with from_branch, from the latest version of that branch."""
        client("create_table", sample(0, 2))
        client("create_table_branch", name="dev")
        client("insert_into_table", sample(2, 4), branch="dev")
        client("create_table_branch", name="dev2", from_branch="dev")
        branch = client("list_table_branches").branches["dev2"]
        assert (branch.parent_branch, branch.parent_version) == ("dev", 2)
        assert client.ids(branch="dev2") == [0, 1, 2, 3]
        assert client.ids() == [0, 1]

    @covers("create_table_branch", "TABLE_BRANCH_ALREADY_EXISTS")
    def test_create_existing_branch(self, client: Client) -> None:
        """CreateTableBranch: code 23 if the branch exists, and it stays what it is."""
        client("create_table", sample(0, 2))
        client("create_table_branch", name="dev")
        client("insert_into_table", sample(2, 4))
        client.refuses("TABLE_BRANCH_ALREADY_EXISTS", "create_table_branch", name="dev")
        assert client.ids(branch="dev") == [0, 1]

    @covers("delete_table_branch")
    def test_delete_branch(self, table: Client) -> None:
        """DeleteTableBranch: the branch is gone, main and the other branches are not."""
        for name in ("dev", "dev2"):
            table("create_table_branch", name=name)
        table("delete_table_branch", name="dev")
        assert list(table("list_table_branches").branches) == ["dev2"]
        for branch in (None, "dev2"):
            assert table.rows(branch=branch) == sample().to_pylist()
        with raises("TABLE_BRANCH_NOT_FOUND"):
            table.rows(branch="dev")


def _three_versions(client: Client) -> None:
    client("create_table", sample(0, 2))
    client("insert_into_table", sample(2, 4))
    client("insert_into_table", sample(4, 6))

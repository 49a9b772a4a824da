"""Versions: listing, describing, restoring and deleting them."""

from __future__ import annotations

from contextlib import suppress

from lance_namespace import TableVersionNotFoundError

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import sample


class VersionTests(BackendFixtures):
    """ListTableVersions, DescribeTableVersion, RestoreTable, BatchDeleteTableVersions."""

    @covers("list_table_versions")
    @needs("create_table", "insert_into_table")
    def test_list_versions(self, client: Client) -> None:
        """ListTableVersions: all versions with the paths of their manifests; latest first with descending."""
        _three_versions(client)
        found = client("list_table_versions", id=["t"], descending=True).versions
        assert [each.version for each in found] == [3, 2, 1]
        assert len({each.manifest_path for each in found}) == 3
        found = client("list_table_versions", id=["t"]).versions
        assert sorted(each.version for each in found) == [1, 2, 3]

    @needs("list_table_versions", "declare_table")
    def test_list_versions_of_declared_table(self, client: Client) -> None:
        """ListTableVersions: none for a table without data; clients that create one through the catalog ask first."""
        client("declare_table", id=["t"])
        assert client("list_table_versions", id=["t"]).versions == []

    @needs("list_table_versions", "create_table", "create_table_branch", "insert_into_table")
    def test_list_versions_of_branch(self, client: Client) -> None:
        """ListTableVersions: on a branch, its own versions too, which main does not have."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(), id=["t"], branch="dev")
        on_branch = client("list_table_versions", id=["t"], branch="dev", descending=True).versions
        assert on_branch[0].version == 2
        assert client.version(["t"]) == 1

    @covers("describe_table_version")
    @needs("create_table", "insert_into_table", "list_table_versions")
    def test_describe_version(self, client: Client) -> None:
        """DescribeTableVersion: one of the listed versions, by default the latest."""
        _three_versions(client)
        listed = {each.version: each.manifest_path for each in client("list_table_versions", id=["t"]).versions}
        for asked, expected in ((1, 1), (2, 2), (None, 3)):
            found = client("describe_table_version", id=["t"], version=asked).version
            assert (found.version, found.manifest_path) == (expected, listed[expected])

    @covers("restore_table")
    @needs("create_table", "insert_into_table", "query_table", "list_table_versions")
    def test_restore_table(self, client: Client) -> None:
        """RestoreTable: the rows of the old version, in a new one; what was in between is not lost."""
        _three_versions(client)
        client("restore_table", id=["t"], version=1)
        assert client.ids(["t"]) == [0, 1]
        assert client.version(["t"]) == 4
        assert client.ids(["t"], version=3) == [0, 1, 2, 3, 4, 5]

    @needs("restore_table", "create_table", "create_table_branch", "insert_into_table", "query_table")
    def test_restore_branch(self, client: Client) -> None:
        """RestoreTable: on a branch, only that branch goes back."""
        client("create_table", sample(0, 2), id=["t"])
        client("insert_into_table", sample(2, 4), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(4, 6), id=["t"], branch="dev")
        client("restore_table", id=["t"], branch="dev", version=2)
        assert client.ids(["t"], branch="dev") == [0, 1, 2, 3]
        assert client.ids(["t"]) == [0, 1, 2, 3]

    @covers("batch_delete_table_versions")
    @needs("create_table", "insert_into_table", "list_table_versions", "query_table")
    def test_delete_versions(self, client: Client) -> None:
        """BatchDeleteTableVersions: ranges without their end, counted; the latest version and its rows stay."""
        _three_versions(client)
        done = client("batch_delete_table_versions", id=["t"], ranges=[{"start_version": 0, "end_version": 2}])
        assert done.deleted_count == 1
        assert sorted(each.version for each in client("list_table_versions", id=["t"]).versions) == [2, 3]
        ranges = [{"start_version": 2, "end_version": 3}]
        assert client("batch_delete_table_versions", id=["t"], ranges=ranges).deleted_count == 1
        assert client.ids(["t"]) == [0, 1, 2, 3, 4, 5]

    @covers("batch_delete_table_versions", "TABLE_VERSION_NOT_FOUND")
    @needs("create_table")
    def test_delete_missing_versions(self, client: Client) -> None:
        """BatchDeleteTableVersions: code 11 if there are none in the range, or a count of 0: the spec allows either."""
        client("create_table", sample(), id=["t"])
        ranges = [{"start_version": 7, "end_version": 9}]
        with client.unchanged(), suppress(TableVersionNotFoundError):
            assert client("batch_delete_table_versions", id=["t"], ranges=ranges).deleted_count == 0

    @covers("batch_delete_table_versions", "INVALID_INPUT")
    @needs("create_table")
    def test_delete_bad_ranges(self, client: Client) -> None:
        """BatchDeleteTableVersions: code 13 for what is no range, or for none at all; nothing is deleted."""
        client("create_table", sample(), id=["t"])
        for ranges in ([], [{"start_version": 3, "end_version": 1}], [{"start_version": -5, "end_version": 1}]):
            with client.unchanged(), raises("INVALID_INPUT"):
                client("batch_delete_table_versions", id=["t"], ranges=ranges)

    @covers("batch_delete_table_versions", "INVALID_TABLE_STATE")
    @needs("create_table", "insert_into_table", "create_table_tag")
    def test_delete_tagged_version(self, client: Client) -> None:
        """BatchDeleteTableVersions: code 19 for a version that a tag names, which would name nothing afterwards."""
        _three_versions(client)
        client("create_table_tag", id=["t"], tag="first", version=1)
        with client.unchanged(), raises("INVALID_TABLE_STATE"):
            client("batch_delete_table_versions", id=["t"], ranges=[{"start_version": 1, "end_version": 3}])


def _three_versions(client: Client) -> None:
    client("create_table", sample(0, 2), id=["t"])
    client("insert_into_table", sample(2, 4), id=["t"])
    client("insert_into_table", sample(4, 6), id=["t"])

"""Tags: names for versions."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import sample


class TagTests(BackendFixtures):
    """CreateTableTag, GetTableTagVersion, UpdateTableTag, DeleteTableTag, ListTableTags."""

    @covers("create_table_tag")
    @covers("get_table_tag_version")
    @covers("list_table_tags")
    @needs("create_table", "insert_into_table")
    def test_create_tag(self, client: Client) -> None:
        """CreateTableTag: the tag stands for its version, here and in the listing; later versions do not move it."""
        client("create_table", sample(), id=["t"])
        client("create_table_tag", id=["t"], tag="first", version=1)
        client("insert_into_table", sample(), id=["t"])
        client("create_table_tag", id=["t"], tag="second", version=2)
        assert client("get_table_tag_version", id=["t"], tag="first").version == 1
        tags = client("list_table_tags", id=["t"]).tags
        assert {name: tag.version for name, tag in tags.items()} == {"first": 1, "second": 2}
        assert all(tag.manifest_size > 0 for tag in tags.values())

    @needs("create_table_tag", "get_table_tag_version", "create_table", "create_table_branch", "insert_into_table")
    def test_tag_of_branch(self, client: Client) -> None:
        """CreateTableTag: a tag may stand for a version of a branch; the branch is absent when that is main."""
        client("create_table", sample(), id=["t"])
        client("create_table_branch", id=["t"], name="dev")
        client("insert_into_table", sample(), id=["t"], branch="dev")
        client("create_table_tag", id=["t"], tag="on-dev", branch="dev", version=2)
        client("create_table_tag", id=["t"], tag="on-main", version=1)
        found = client("get_table_tag_version", id=["t"], tag="on-dev")
        assert (found.branch, found.version) == ("dev", 2)
        assert client("get_table_tag_version", id=["t"], tag="on-main").branch is None

    @covers("create_table_tag", "TABLE_TAG_ALREADY_EXISTS")
    @needs("create_table", "insert_into_table", "get_table_tag_version")
    def test_create_existing_tag(self, client: Client) -> None:
        """CreateTableTag: code 9 if the tag exists, and it stays where it is."""
        client("create_table", sample(), id=["t"])
        client("insert_into_table", sample(), id=["t"])
        client("create_table_tag", id=["t"], tag="first", version=1)
        for version in (1, 2):
            with client.unchanged(), raises("TABLE_TAG_ALREADY_EXISTS"):
                client("create_table_tag", id=["t"], tag="first", version=version)

    @covers("update_table_tag")
    @needs("create_table", "insert_into_table", "create_table_tag", "get_table_tag_version")
    def test_update_tag(self, client: Client) -> None:
        """UpdateTableTag: the tag stands for the other version."""
        client("create_table", sample(), id=["t"])
        client("insert_into_table", sample(), id=["t"])
        client("create_table_tag", id=["t"], tag="moving", version=1)
        client("update_table_tag", id=["t"], tag="moving", version=2)
        assert client("get_table_tag_version", id=["t"], tag="moving").version == 2

    @covers("delete_table_tag")
    @needs("create_table", "create_table_tag", "get_table_tag_version", "list_table_tags", "query_table")
    def test_delete_tag(self, client: Client) -> None:
        """DeleteTableTag: the tag is gone, the version it named is not."""
        client("create_table", sample(), id=["t"])
        client("create_table_tag", id=["t"], tag="first", version=1)
        client("delete_table_tag", id=["t"], tag="first")
        assert client("list_table_tags", id=["t"]).tags == {}
        with raises("TABLE_TAG_NOT_FOUND"):
            client("get_table_tag_version", id=["t"], tag="first")
        assert client.rows(["t"], version=1) == sample().to_pylist()

    @covers("get_table_tag_version", "TABLE_TAG_NOT_FOUND")
    @covers("update_table_tag", "TABLE_TAG_NOT_FOUND")
    @covers("delete_table_tag", "TABLE_TAG_NOT_FOUND")
    @needs("create_table")
    def test_missing_tag(self, client: Client) -> None:
        """GetTableTagVersion, UpdateTableTag, DeleteTableTag: code 8 if the table has no such tag."""
        client("create_table", sample(), id=["t"])
        for operation in ("get_table_tag_version", "update_table_tag", "delete_table_tag"):
            with client.unchanged(), raises("TABLE_TAG_NOT_FOUND"):
                client.example(operation, ["t"], tag="absent")

    @covers("create_table_tag", "INVALID_INPUT")
    @needs("create_table")
    def test_bad_tag_name(self, client: Client) -> None:
        """CreateTableTag: code 13 for a name that cannot be a tag."""
        client("create_table", sample(), id=["t"])
        for tag in ("", "../up", "a b"):
            with client.unchanged(), raises("INVALID_INPUT"):
                client("create_table_tag", id=["t"], tag=tag, version=1)

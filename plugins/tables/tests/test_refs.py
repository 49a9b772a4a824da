"""Tags and branches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    InvalidInputError,
    InvalidTableStateError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)

from lancespace import connect

ROW = pa.table({"id": [9], "name": ["z"]})


class TestTags:
    def test_create_get_update_delete(self, people):
        people.call("insert_into_table", ROW)
        people.call("create_table_tag", tag="stable", version=1)
        assert people.call("get_table_tag_version", tag="stable").version == 1
        people.call("update_table_tag", tag="stable", version=2)
        assert people.call("get_table_tag_version", tag="stable").version == 2
        people.call("delete_table_tag", tag="stable")
        with pytest.raises(TableTagNotFoundError, match="table 't' has no tag 'stable'"):
            people.call("get_table_tag_version", tag="stable")

    def test_a_tag_is_written_as_pylance_writes_it(self, branched):
        """But for the time, which nobody else writes; pylance then moves and deletes it as its own."""
        dataset = lance.dataset(branched.tables["t",])
        for tag, branch, version in (("main", None, 1), ("dev", "dev", 2)):
            branched.call("create_table_tag", tag=f"{tag}.ours", version=version, branch=branch)
            dataset.tags.create(f"{tag}.theirs", (branch, version))
            ours, theirs = (_tag_file(dataset, f"{tag}.{whose}") for whose in ("ours", "theirs"))
            assert ours.pop("createdAt") == ours.pop("updatedAt")
            assert ours == {key: value for key, value in theirs.items() if not key.endswith("At")}
        tags = dataset.tags.list()
        assert abs((tags["dev.ours"]["created_at"] - tags["dev.theirs"]["created_at"]).total_seconds()) < 60
        dataset.tags.update("dev.ours", 1)
        dataset.tags.delete("main.ours")

    def test_of_a_branch(self, branched):
        branched.call("create_table_tag", tag="there", version=2, branch="dev")
        answer = branched.call("get_table_tag_version", tag="there")
        assert (answer.version, answer.branch) == (2, "dev")
        branched.call("update_table_tag", tag="there", version=1, branch="main")
        assert branched.call("get_table_tag_version", tag="there").branch is None

    def test_a_handle_queries_what_a_tag_names(self):
        with connect("memory") as namespace:
            namespace.create_table("t", [{"id": 1}])
            namespace.create_table_branch("t", name="dev")
            namespace.insert_into_table("t", [{"id": 2}], branch="dev")
            namespace.create_table_tag("t", tag="first", version=1)
            namespace.create_table_tag("t", tag="on_dev", version=2, branch="dev")
            namespace.insert_into_table("t", [{"id": 3}])
            table = namespace.table("t")

            assert table.to_arrow(tag="first")["id"].to_pylist() == [1]
            assert table.to_arrow(tag="on_dev", filter="id > 1")["id"].to_pylist() == [2]
            with pytest.raises(TableTagNotFoundError, match="'nope'"):
                table.query(tag="nope")
            with pytest.raises(InvalidInputError, match="a tag names a version and a branch already"):
                table.query(tag="first", version=1)

    def test_the_list_has_pages(self, branched):
        for tag in ("c", "a", "b"):
            branched.call("create_table_tag", tag=tag, version=1)
        branched.call("create_table_tag", tag="d", version=2, branch="dev")
        first = branched.call("list_table_tags", limit=3)
        assert list(first.tags) == ["a", "b", "c"]
        rest = branched.call("list_table_tags", limit=3, page_token=first.page_token)
        assert list(rest.tags) == ["d"]
        assert rest.page_token is None
        assert (rest.tags["d"].branch, rest.tags["d"].version) == ("dev", 2)
        assert rest.tags["d"].manifest_size > 0

    @pytest.mark.parametrize(
        ("operation", "fields", "expected"),
        [
            ("create_table_tag", {"tag": "there", "version": 1}, TableTagAlreadyExistsError),
            ("create_table_tag", {"tag": "new", "version": 9}, TableVersionNotFoundError),
            ("create_table_tag", {"tag": "new", "version": 1, "branch": "nope"}, TableBranchNotFoundError),
            ("create_table_tag", {"tag": "a b", "version": 1}, InvalidInputError),
            ("create_table_tag", {"tag": "", "version": 1}, InvalidInputError),
            ("update_table_tag", {"tag": "nope", "version": 1}, TableTagNotFoundError),
            ("update_table_tag", {"tag": "there", "version": 9}, TableVersionNotFoundError),
            ("update_table_tag", {"tag": "there", "version": 1, "branch": "nope"}, TableBranchNotFoundError),
            ("delete_table_tag", {"tag": "nope"}, TableTagNotFoundError),
            ("get_table_tag_version", {"tag": "nope"}, TableTagNotFoundError),
            ("list_table_tags", {"limit": -2}, InvalidInputError),
        ],
    )
    def test_errors_change_nothing(self, people, operation, fields, expected):
        people.call("create_table_tag", tag="there", version=1)
        before = people.call("list_table_tags")
        with pytest.raises(expected):
            people.call(operation, **fields)
        assert people.call("list_table_tags") == before


class TestBranches:
    def test_create_from_the_latest_of_main(self, people):
        people.call("insert_into_table", ROW)
        people.call("create_table_branch", name="dev")
        branch = people.call("list_table_branches").branches["dev"]
        assert (branch.parent_branch, branch.parent_version) == (None, 2)
        assert branch.create_at > 0
        assert len(people.rows(branch="dev")) == 4

    def test_create_from_a_version(self, people):
        people.call("insert_into_table", ROW)
        people.call("create_table_branch", name="dev", from_version=1)
        assert len(people.rows(branch="dev")) == 3

    def test_create_from_a_branch(self, branched):
        branched.call("create_table_branch", name="sub", from_branch="dev")
        branched.call("create_table_branch", name="sub1", from_branch="dev", from_version=1)
        branches = branched.call("list_table_branches").branches
        assert (branches["sub"].parent_branch, branches["sub"].parent_version) == ("dev", 2)
        assert len(branched.rows(branch="sub")) == 4
        assert len(branched.rows(branch="sub1")) == 3

    def test_the_list_has_pages(self, people):
        for name in ("c", "a", "b"):
            people.call("create_table_branch", name=name)
        first = people.call("list_table_branches", limit=2)
        assert list(first.branches) == ["a", "b"]
        assert list(people.call("list_table_branches", page_token=first.page_token).branches) == ["c"]

    def test_delete(self, branched):
        branched.call("delete_table_branch", name="dev")
        assert branched.call("list_table_branches").branches == {}
        with pytest.raises(TableBranchNotFoundError):
            branched.call("count_table_rows", branch="dev")
        branched.call("create_table_branch", name="dev")
        assert len(branched.rows(branch="dev")) == 3

    @pytest.mark.parametrize(
        ("operation", "fields", "expected"),
        [
            ("create_table_branch", {"name": "dev"}, TableBranchAlreadyExistsError),
            ("create_table_branch", {"name": "dev", "from_branch": "dev"}, TableBranchAlreadyExistsError),
            ("create_table_branch", {"name": "new", "from_branch": "nope"}, TableBranchNotFoundError),
            ("create_table_branch", {"name": "new", "from_version": 9}, TableVersionNotFoundError),
            (
                "create_table_branch",
                {"name": "new", "from_branch": "dev", "from_version": 9},
                TableVersionNotFoundError,
            ),
            ("create_table_branch", {"name": "main"}, InvalidInputError),
            ("create_table_branch", {"name": "a b"}, InvalidInputError),
            ("create_table_branch", {"name": "../up"}, InvalidInputError),
            ("delete_table_branch", {"name": "nope"}, TableBranchNotFoundError),
            ("delete_table_branch", {"name": "main"}, InvalidInputError),
            ("list_table_branches", {"limit": -1}, InvalidInputError),
        ],
    )
    def test_errors_change_nothing(self, branched, operation, fields, expected):
        for _ in range(3):
            branched.call("insert_into_table", ROW)
        before = branched.call("list_table_branches")
        with pytest.raises(expected):
            branched.call(operation, **fields)
        assert branched.call("list_table_branches") == before
        assert len(branched.rows(branch="dev")) == 4

    def test_a_branch_that_is_needed_stays(self, branched):
        branched.call("create_table_branch", name="sub", from_branch="dev")
        with pytest.raises(InvalidTableStateError, match="referenced by"):
            branched.call("delete_table_branch", name="dev")
        branched.call("create_table_tag", tag="here", version=2, branch="sub")
        with pytest.raises(InvalidTableStateError, match="referenced by tags"):
            branched.call("delete_table_branch", name="sub")


def _tag_file(dataset: lance.LanceDataset, tag: str) -> dict[str, Any]:
    path = Path(dataset.uri.removeprefix("file://"), "_refs", "tags", f"{tag}.json")
    content: dict[str, Any] = json.loads(path.read_text())
    return content

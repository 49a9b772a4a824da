from __future__ import annotations

from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import (
    DescribeTableRequest,
    InvalidInputError,
    InvalidTableStateError,
    ListTableVersionsRequest,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
)

ROW = pa.table({"id": [9], "name": ["z"]})


@pytest.fixture
def old(people):
    """``people`` at version 5."""
    for _ in range(4):
        people.call("insert_into_table", ROW)
    return people


def numbers(answer: Any) -> Any:
    return [version.version for version in answer.versions]


class TestList:
    def test_oldest_first_unless_asked_otherwise(self, old):
        assert numbers(old.call("list_table_versions")) == [1, 2, 3, 4, 5]
        assert numbers(old.call("list_table_versions", descending=True)) == [5, 4, 3, 2, 1]

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("limit", [1, 2, 5, 9])
    def test_pages_lose_and_repeat_nothing(self, old, descending, limit):
        found, token = [], None
        while True:
            answer = old.call("list_table_versions", limit=limit, descending=descending, page_token=token)
            found += numbers(answer)
            token = answer.page_token
            if token is None:
                break
        assert found == sorted(found, reverse=descending) == ([5, 4, 3, 2, 1] if descending else [1, 2, 3, 4, 5])

    def test_a_commit_between_pages_disturbs_neither_order(self, old):
        up = old.call("list_table_versions", limit=3)
        down = old.call("list_table_versions", limit=3, descending=True)
        old.call("insert_into_table", ROW)
        assert numbers(old.call("list_table_versions", page_token=up.page_token)) == [4, 5, 6]
        assert numbers(old.call("list_table_versions", page_token=down.page_token, descending=True)) == [2, 1]

    def test_it_tells_the_same_as_pylance(self, old, tmp_path):
        namespace = DirectoryNamespace(root=str(tmp_path))
        theirs = namespace.list_table_versions(ListTableVersionsRequest(id=["t"])).versions
        ours = old.call("list_table_versions").versions
        assert [one.model_copy(update={"e_tag": None}) for one in theirs] == ours

    def test_a_branch_has_its_own(self, branched):
        assert numbers(branched.call("list_table_versions", branch="dev")) == [1, 2]
        assert numbers(branched.call("list_table_versions", branch="main")) == [1]
        path = branched.call("list_table_versions", branch="dev").versions[0].manifest_path
        assert "/t.lance/tree/dev/_versions/" in path

    def test_tables_of_the_old_naming_scheme(self, backend, tmp_path):
        backend.call("declare_table")
        location = backend.describe_table(DescribeTableRequest(id=["t"])).location
        lance.write_dataset(ROW, location, enable_v2_manifest_paths=False)
        lance.write_dataset(ROW, location, mode="append")
        answer = backend.call("list_table_versions")
        assert numbers(answer) == [1, 2]
        assert answer.versions[1].manifest_path == f"{str(tmp_path).strip('/')}/t.lance/_versions/2.manifest"

    def test_a_declared_table_has_none(self, backend):
        backend.call("declare_table")
        assert numbers(backend.call("list_table_versions")) == []

    def test_an_unknown_branch(self, people):
        with pytest.raises(TableBranchNotFoundError, match="has no branch 'nope'"):
            people.call("list_table_versions", branch="nope")

    def test_a_bad_page(self, people):
        with pytest.raises(InvalidInputError):
            people.call("list_table_versions", limit=-1)
        with pytest.raises(InvalidInputError):
            people.call("list_table_versions", page_token="nobody gave this out")


class TestDescribe:
    def test_one_and_the_latest(self, old):
        assert old.call("describe_table_version", version=2).version == old.call("list_table_versions").versions[1]
        assert old.call("describe_table_version").version.version == 5

    def test_on_a_branch(self, branched):
        assert branched.call("describe_table_version", branch="dev").version.version == 2

    def test_an_unknown_one(self, people):
        with pytest.raises(TableVersionNotFoundError, match="table 't' has no version 7"):
            people.call("describe_table_version", version=7)

    def test_a_declared_table_has_none(self, backend):
        backend.call("declare_table")
        with pytest.raises(InvalidTableStateError):
            backend.call("describe_table_version")


class TestRestore:
    def test_an_old_version_becomes_the_newest(self, old):
        answer = old.call("restore_table", version=1)
        assert answer.transaction_id == old.open(DescribeTableRequest(id=["t"])).read_transaction(6).uuid
        assert old.call("describe_table_version").version.version == 6
        assert len(old.rows()) == 3
        assert len(old.rows(version=5)) == 7

    def test_on_a_branch(self, branched):
        branched.call("restore_table", version=1, branch="dev")
        assert len(branched.rows(branch="dev")) == 3
        assert numbers(branched.call("list_table_versions", branch="dev")) == [1, 2, 3]
        assert numbers(branched.call("list_table_versions")) == [1]

    def test_an_unknown_version_changes_nothing(self, people):
        with pytest.raises(TableVersionNotFoundError):
            people.call("restore_table", version=7)
        assert people.call("describe_table_version").version.version == 1


class TestBatchDelete:
    def delete(self, backend: Any, *ranges: Any, **fields: Any) -> Any:
        wanted = [{"start_version": start, "end_version": end} for start, end in ranges]
        return backend.call("batch_delete_table_versions", ranges=wanted, **fields).deleted_count

    def left(self, backend: Any, **fields: Any) -> Any:
        return numbers(backend.call("list_table_versions", **fields))

    def test_ranges_end_before_their_end(self, old):
        assert self.delete(old, (1, 3), (2, 4)) == 3
        assert self.left(old) == [4, 5]
        assert len(old.rows(version=4)) == 6

    def test_from_the_first(self, old):
        assert self.delete(old, (0, 5)) == 4
        assert self.left(old) == [5]

    def test_on_a_branch(self, branched):
        branched.call("insert_into_table", ROW, branch="dev")
        assert self.delete(branched, (2, 3), branch="dev") == 1
        assert self.left(branched, branch="dev") == [1, 3]
        assert self.left(branched) == [1]

    @pytest.mark.parametrize(
        ("ranges", "expected", "words"),
        [
            ([], InvalidInputError, "at least one range"),
            ([(1, 2), (4, -1)], InvalidInputError, "version 5, the latest of table 't', which must stay: end it at 5"),
            ([(0, -1)], InvalidInputError, "the latest of table 't'"),
            ([(5, 6)], InvalidInputError, "the latest of table 't'"),
            ([(3, 3)], InvalidInputError, "3 to 3 is not a range"),
            ([(-2, 3)], InvalidInputError, "-2 to 3 is not a range"),
            ([(1, 2), (7, 9)], TableVersionNotFoundError, "no version from 7 up to 9"),
            ([(7, -1)], TableVersionNotFoundError, "no version from 7"),
        ],
    )
    def test_bad_ranges_delete_nothing(self, old, ranges, expected, words):
        with pytest.raises(expected, match=words):
            self.delete(old, *ranges)
        assert self.left(old) == [1, 2, 3, 4, 5]

    def test_what_a_tag_or_a_branch_needs_stays(self, old):
        old.call("create_table_tag", tag="keep", version=2)
        old.call("create_table_branch", name="dev", from_version=3)
        with pytest.raises(
            InvalidTableStateError, match="branch 'dev' needs version 3; tag 'keep' needs version 2: delete"
        ):
            self.delete(old, (1, 5))
        assert self.left(old) == [1, 2, 3, 4, 5]
        assert self.delete(old, (1, 2), (4, 5)) == 2

    def test_a_tag_of_another_branch_is_no_reason(self, branched):
        branched.call("insert_into_table", ROW)
        branched.call("insert_into_table", ROW)
        branched.call("create_table_tag", tag="there", version=2, branch="dev")
        assert self.delete(branched, (2, 3)) == 1

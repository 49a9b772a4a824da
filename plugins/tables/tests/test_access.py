from __future__ import annotations

import shutil
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    DescribeTableRequest,
    InvalidInputError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)

from lancespace_tables import TableLocation
from lancespace_tables._access import transaction_id


def describe(**fields: Any) -> Any:
    return DescribeTableRequest(id=["t"], **fields)


def test_open_takes_the_latest_of_main(branched):
    branched.call("insert_into_table", pa.table({"id": [9], "name": ["z"]}))
    assert branched.open(describe()).version == 2
    assert branched.open(describe(branch="main")).count_rows() == 4


def test_open_honours_version_tag_and_branch(branched):
    branched.call("insert_into_table", pa.table({"id": [9], "name": ["z"]}))
    branched.call("create_table_tag", tag="first", version=1)
    branched.call("create_table_tag", tag="on_dev", version=2, branch="dev")
    assert branched.open(describe(version=1)).version == 1
    assert branched.open(describe(tag="first")).version == 1
    assert branched.open(describe(branch="dev")).to_table()["name"].to_pylist()[-1] == "dev"
    assert branched.open(describe(branch="dev", version=1)).count_rows() == 3
    assert branched.open(describe(tag="on_dev")).to_table()["name"].to_pylist()[-1] == "dev"


@pytest.mark.parametrize(
    ("fields", "expected", "words"),
    [
        ({"version": 7}, TableVersionNotFoundError, "table 't' has no version 7"),
        ({"version": 7, "branch": "main"}, TableVersionNotFoundError, "table 't' has no version 7"),
        ({"version": 0}, TableVersionNotFoundError, "table 't' has no version 0"),
        ({"tag": "nope"}, TableTagNotFoundError, "nope"),
        ({"branch": "nope"}, TableBranchNotFoundError, "table 't' has no branch 'nope'"),
        ({"branch": "nope", "version": 1}, TableBranchNotFoundError, "table 't' has no branch 'nope'"),
        ({"branch": "dev", "version": 9}, TableVersionNotFoundError, "branch 'dev' of table 't' has no version 9"),
        ({"branch": "../x"}, InvalidInputError, "Branch name"),
        ({"tag": "x", "version": 1}, InvalidInputError, "a tag names a version and a branch already"),
        ({"tag": "x", "branch": "dev"}, InvalidInputError, "a tag names a version and a branch already"),
    ],
)
def test_what_is_missing_is_named(branched, fields, expected, words):
    with pytest.raises(expected, match=words):
        branched.open(describe(**fields))


@pytest.mark.parametrize("fields", [{}, {"version": 1}, {"tag": "x"}, {"branch": "dev"}])
def test_a_table_without_data_says_how_to_mend_it(backend, fields):
    backend.call("declare_table")
    with pytest.raises(
        InvalidTableStateError, match="'t' was declared but has no data yet: create it with create_table"
    ):
        backend.open(describe(**fields))


def test_exists_tells_declared_from_created(backend):
    backend.call("declare_table")
    ref = backend.locate(describe())
    assert not ref.exists()
    assert ref.latest() is None
    backend.call("create_table", pa.table({"a": [1]}))
    assert ref.exists()


def test_a_broken_table_is_not_taken_for_an_empty_one(people, tmp_path):
    for manifest in (tmp_path / "t.lance" / "_versions").glob("*.manifest"):
        manifest.write_bytes(b"garbage")
    with pytest.raises(InvalidTableStateError):
        people.locate(describe()).exists()


def test_a_table_made_anew_at_the_same_place_is_read_anew(tmp_path):
    ref = TableLocation(("t",), str(tmp_path / "t.lance"), {})
    for number in range(5):
        lance.write_dataset(pa.table({f"column_{number}": [1]}), ref.location)
        assert ref.open().schema.names == ref.open(version=1).schema.names == [f"column_{number}"]
        shutil.rmtree(ref.location)


def test_transaction_id_is_that_of_the_version(people):
    first = people.open(describe())
    people.call("delete_from_table", predicate="id = 1")
    second = people.open(describe())
    assert transaction_id(first) != transaction_id(second)
    assert transaction_id(second) == second.read_transaction(2).uuid

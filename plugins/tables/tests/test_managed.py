"""A backend that says of its tables that commits go through it: then they do, whichever operation makes them."""

from __future__ import annotations

from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)

from lancespace.authoring import hookimpl, translate
from lancespace_tables._versions import VersionOperations
from plugins.tables.tests.conftest import TinyBackend

ROW = pa.table({"id": [9], "name": ["z"]})


class ManagingBackend(TinyBackend):
    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.committed: list[int] = []

    def namespace_id(self) -> str:
        return "managing"

    @hookimpl
    def describe_table(self, request: Any) -> Any:
        return super().describe_table(request).model_copy(update={"managed_versioning": True})

    @hookimpl
    def create_table_version(self, request: Any) -> Any:
        made = VersionOperations(self).create_table_version(request)  # type: ignore[arg-type]
        self.committed.append(request.version)
        return made


@pytest.fixture
def people(tmp_path):
    backend = ManagingBackend(str(tmp_path))
    backend.call("create_table", pa.table({"id": [1, 2, 3], "name": ["ann", "bob", "cy"]}))
    return backend


def test_every_change_is_committed_by_the_catalog(people):
    people.call("insert_into_table", ROW)
    people.call("merge_insert_into_table", ROW, on=["id"], when_matched_update_all=True)
    people.call("update_table", updates=[["name", "'x'"]])
    people.call("delete_from_table", predicate="id = 1")
    people.call("create_table_scalar_index", column="id", index_type="BTREE")
    people.call("alter_table_add_columns", new_columns=[{"name": "double", "expression": "id * 2"}])
    people.call("restore_table", version=1)
    people.call("create_table", ROW, mode="overwrite")
    versions = [each.version for each in people.call("list_table_versions").versions]
    assert people.committed == versions == list(range(1, len(versions) + 1))
    assert len(people.rows()) == 1


def test_reads_ask_the_catalog_too(people):
    people.call("insert_into_table", ROW)
    people.call("create_table_tag", tag="first", version=1)
    assert len(people.rows(version=1)) == 3
    assert people.call("count_table_rows").count == 4
    with pytest.raises(TableVersionNotFoundError, match="has no version 9"):
        people.call("count_table_rows", version=9)
    with pytest.raises(TableBranchNotFoundError):
        people.call("count_table_rows", branch="absent")


def test_a_declared_table_has_no_data(people):
    people.call("declare_table", id=["new"])
    assert people.call("list_table_versions", id=["new"]).versions == []
    with pytest.raises(InvalidTableStateError, match="was declared but has no data yet"):
        people.call("describe_table_version", id=["new"])
    people.call("insert_into_table", ROW, id=["new"])
    assert people.committed == [1, 1]


def test_errors_that_lance_relays_keep_their_class():
    relayed = ValueError("Namespace error: Table version not found: no version 3, src/namespace.rs:1569:18")
    assert isinstance(translate(relayed), TableVersionNotFoundError)
    assert "src/namespace.rs" not in str(translate(relayed))
    conflict = OSError("Namespace error: Concurrent modification: version 2 was made by another writer")
    assert isinstance(translate(conflict), ConcurrentModificationError)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("declare_table", {"id": ["new"]}),
        ("deregister_table", {"id": ["t"]}),
        ("delete_table_versions", {"id": ["t"], "ranges": [{"start_version": 1, "end_version": 2}]}),
    ],
)
def test_a_batch_of_one_operation_is_that_operation(people, kind, fields):
    people.call("insert_into_table", ROW)
    (done,) = people.call("batch_commit_tables", id=None, operations=[{kind: fields}]).results
    assert done.model_fields_set == {kind}


def test_a_batch_of_several_operations_is_not_promised(people):
    declare = {"declare_table": {"id": ["new"]}}
    with pytest.raises(UnsupportedOperationError, match=r"got 2 operations.*all or none cannot be promised"):
        people.call("batch_commit_tables", id=None, operations=[declare, {"deregister_table": {"id": ["t"]}}])
    with pytest.raises(InvalidInputError, match="got 0 operations"):
        people.call("batch_commit_tables", id=None, operations=[])
    with pytest.raises(InvalidInputError, match=r"operations\[0\] must be exactly one of declare_table"):
        people.call("batch_commit_tables", id=None, operations=[{}])
    assert list(people.tables) == [("t",)]
    assert lance.dataset(people.tables["t",]).version == 1

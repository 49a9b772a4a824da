"""What all table operations have in common: the ways in which a table can be absent, and their hooks."""

from __future__ import annotations

from typing import Any

import pluggy
import pyarrow as pa
import pytest
from lance_namespace import (
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableBranchNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)

from lancespace._hookspecs import HOOK_GROUPS
from lancespace.authoring import OPERATIONS

VECTOR = {"single_vector": [1.0]}
INDEX = {"column": "id", "index_type": "BTREE"}
REQUESTS: dict[str, dict[str, Any]] = {
    "insert_into_table": {},
    "merge_insert_into_table": {"on": ["id"], "when_matched_update_all": True},
    "update_table": {"updates": [["id", "1"]]},
    "delete_from_table": {"predicate": "true"},
    "query_table": {"k": 1, "vector": VECTOR},
    "count_table_rows": {},
    "explain_table_query_plan": {"query": {"k": 1, "vector": VECTOR}},
    "analyze_table_query_plan": {"k": 1, "vector": VECTOR},
    "alter_table_add_columns": {"new_columns": [{"name": "n", "expression": "1"}]},
    "alter_table_alter_columns": {"alterations": [{"path": "id", "rename": "n"}]},
    "alter_table_drop_columns": {"columns": ["id"]},
    "update_table_schema_metadata": {"metadata": {}},
    "update_field_metadata": {"updates": [{"path": "id", "metadata": {}}]},
    "get_table_stats": {},
    "create_table_index": INDEX,
    "create_table_scalar_index": INDEX,
    "list_table_indices": {},
    "describe_table_index_stats": {"index_name": "x"},
    "drop_table_index": {"index_name": "x"},
    "list_table_versions": {},
    "describe_table_version": {},
    "create_table_version": {"version": 1, "manifest_path": "x"},
    "batch_delete_table_versions": {"ranges": [{"start_version": 1, "end_version": 2}]},
    "restore_table": {"version": 1},
    "list_table_tags": {},
    "get_table_tag_version": {"tag": "x"},
    "create_table_tag": {"tag": "x", "version": 1},
    "update_table_tag": {"tag": "x", "version": 1},
    "delete_table_tag": {"tag": "x"},
    "list_table_branches": {},
    "create_table_branch": {"name": "x"},
    "delete_table_branch": {"name": "x"},
}
"""A request that would do for each operation, if only the table were there."""


def that_answer(code: Any) -> list[str]:
    return [name for name in REQUESTS if code in OPERATIONS[name].errors]


def call(backend: Any, operation: str, **fields: Any) -> Any:
    data = pa.table({"id": [1], "name": ["x"]}) if OPERATIONS[operation].takes_data else None
    return backend.call(operation, data, **{**REQUESTS[operation], **fields})


@pytest.mark.parametrize("operation", REQUESTS)
def test_no_namespace(backend, operation):
    with pytest.raises(NamespaceNotFoundError):
        call(backend, operation, id=["nowhere", "t"])


@pytest.mark.parametrize("operation", REQUESTS)
def test_no_table(backend, operation):
    with pytest.raises(TableNotFoundError):
        call(backend, operation, id=["ns", "t"])


CREATE = {"insert_into_table", "merge_insert_into_table"}
"""The spec lets these create a declared table."""


@pytest.mark.parametrize(
    "operation", sorted(set(that_answer("INVALID_TABLE_STATE")) - CREATE - {"list_table_versions"})
)
def test_no_data(backend, operation):
    backend.call("declare_table")
    with pytest.raises(InvalidTableStateError, match="'t' was declared but has no data yet"):
        call(backend, operation)


def with_branch(operation: str) -> dict[str, Any]:
    if operation == "create_table_branch":
        return {"from_branch": "nope"}
    return {"name": "nope"} if operation == "delete_table_branch" else {"branch": "nope"}


@pytest.mark.parametrize("operation", that_answer("TABLE_BRANCH_NOT_FOUND"))
def test_no_branch(people, operation):
    with pytest.raises(TableBranchNotFoundError, match="nope"):
        call(people, operation, **with_branch(operation))


def with_version(operation: str) -> dict[str, Any]:
    if operation == "explain_table_query_plan":
        return {"query": {**REQUESTS[operation]["query"], "version": 9}}
    if operation == "batch_delete_table_versions":
        return {"ranges": [{"start_version": 9, "end_version": 10}]}
    return {"from_version": 9} if operation == "create_table_branch" else {"version": 9}


@pytest.mark.parametrize("operation", that_answer("TABLE_VERSION_NOT_FOUND"))
def test_no_version(people, operation):
    with pytest.raises(TableVersionNotFoundError, match="9"):
        call(people, operation, **with_version(operation))


def test_the_hooks_are_those_of_the_framework(backend):
    manager = pluggy.PluginManager("lancespace")
    for group in HOOK_GROUPS:
        manager.add_hookspecs(group)
    for plugin in (*backend.groups, backend):
        manager.register(plugin)
    manager.check_pending()
    implemented = {name for name in OPERATIONS if getattr(manager.hook, name).get_hookimpls()}
    assert implemented >= REQUESTS.keys() | {"batch_create_table_versions"}

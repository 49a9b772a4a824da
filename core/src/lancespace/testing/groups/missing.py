"""Objects that are not there: every operation says so with the same code, and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lancespace.operations import OPERATIONS, Subject
from lancespace.testing import examples
from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.examples import TABLE
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import Feature, answering, for_each, needs

_ABSENT = "absent"
_NO_VERSION = 999

_NOT_FOR_ALL = {"create_materialized_view", "register_table"}
"""A view needs its source first, see the group of views; a registration starts from a real location, see the tables."""

_WITHOUT_DATA = {
    *("insert_into_table", "merge_insert_into_table", "list_table_versions"),
    *("drop_namespace", "drop_table", "deregister_table", "rename_table"),
}
"""What has a meaning on a table that was only declared."""

_ABSENT_VERSION: Mapping[str, dict[str, Any]] = {
    "explain_table_query_plan": {"query": {**examples.ALL_ROWS, "version": _NO_VERSION}},
    "create_table_branch": {"from_version": _NO_VERSION},
    "refresh_materialized_view": {"src_version": _NO_VERSION},
}
_ABSENT_BRANCH: Mapping[str, dict[str, Any]] = {
    "create_table_branch": {"from_branch": _ABSENT},
    "delete_table_branch": {"name": _ABSENT},
}
_ABSENT_COLUMN: Mapping[str, dict[str, Any]] = {
    "merge_insert_into_table": {"on": [_ABSENT]},
    "update_table": {"updates": [[_ABSENT, "1"]]},
    "delete_from_table": {"predicate": f"{_ABSENT} = 1"},
    "query_table": {"columns": {"column_names": ["id", _ABSENT]}},
    "count_table_rows": {"predicate": f"{_ABSENT} = 1"},
    "explain_table_query_plan": {"query": {**examples.ALL_ROWS, "filter": f"{_ABSENT} = 1"}},
    "analyze_table_query_plan": {"filter": f"{_ABSENT} = 1"},
    "alter_table_add_columns": {"new_columns": [{"name": "more", "expression": f"{_ABSENT} + 1"}]},
    "alter_table_alter_columns": {"alterations": [{"path": _ABSENT, "rename": "label"}]},
    "alter_table_drop_columns": {"columns": [_ABSENT]},
    "alter_table_backfill_columns": {"column": _ABSENT},
    "update_field_metadata": {"updates": [{"path": _ABSENT, "metadata": {"unit": "words"}}]},
    "create_table_index": {"column": _ABSENT},
    "create_table_scalar_index": {"column": _ABSENT},
}


def _with(code: str, *, leaving_out: set[str] | None = None) -> dict[str, tuple[str, ...]]:
    """The operations that answer a code, each with what it takes to get there."""
    left_out = leaving_out or set()
    return {name: examples.prerequisites(name) for name in answering(code) if name not in left_out}


class MissingTests(BackendFixtures):
    """Error Handling: the codes for a namespace, table, version, branch or column that does not exist."""

    @for_each([name for name in answering("NAMESPACE_NOT_FOUND") if name not in _NOT_FOR_ALL], "NAMESPACE_NOT_FOUND")
    @needs()
    def test_missing_namespace(self, client: Client, operation: str) -> None:
        """Error Handling: code 1 if the namespace, or the one that the table would be in, does not exist."""
        exact = OPERATIONS[operation].subject is Subject.NAMESPACE and operation != "create_namespace"
        with client.unchanged(), raises("NAMESPACE_NOT_FOUND"):
            client.example(operation, [_ABSENT] if exact else [_ABSENT, "child"])

    @for_each([name for name in answering("NAMESPACE_NOT_FOUND") if name not in _NOT_FOR_ALL], "NAMESPACE_NOT_FOUND")
    @needs("create_namespace", Feature.NESTED_NAMESPACES)
    def test_missing_nested_namespace(self, client: Client, operation: str) -> None:
        """Error Handling: code 1 also where the catalog has namespaces, and some of the identifier exists."""
        client("create_namespace", id=["there"])
        with client.unchanged(), raises("NAMESPACE_NOT_FOUND"):
            client.example(operation, ["there", _ABSENT, "child"])

    @for_each([name for name in answering("TABLE_NOT_FOUND") if name not in _NOT_FOR_ALL], "TABLE_NOT_FOUND")
    @needs("create_table")
    def test_missing_table(self, client: Client, operation: str) -> None:
        """Error Handling: code 4 if the namespace exists and the table does not."""
        client.example("create_table", ["other"])
        with client.unchanged(), raises("TABLE_NOT_FOUND"):
            client.example(operation, [_ABSENT])

    @for_each([name for name in answering("TABLE_NOT_FOUND") if name not in _NOT_FOR_ALL], "TABLE_NOT_FOUND")
    @needs("create_namespace")
    def test_missing_table_in_namespace(self, client: Client, operation: str) -> None:
        """Error Handling: code 4 for a table that is not in a child namespace, and the root's tables are no answer."""
        client("create_namespace", id=["there"])
        with client.unchanged(), raises("TABLE_NOT_FOUND"):
            client.example(operation, ["there", _ABSENT])

    @for_each(_with("TABLE_VERSION_NOT_FOUND", leaving_out={"batch_delete_table_versions"}), "TABLE_VERSION_NOT_FOUND")
    @needs()
    def test_missing_version(self, client: Client, operation: str) -> None:
        """Error Handling: code 11 if the table has no such version."""
        client.prepare(operation)
        with client.unchanged(), raises("TABLE_VERSION_NOT_FOUND"):
            client.example(operation, **_ABSENT_VERSION.get(operation, {"version": _NO_VERSION}))

    @for_each(_with("TABLE_BRANCH_NOT_FOUND"), "TABLE_BRANCH_NOT_FOUND")
    @needs()
    def test_missing_branch(self, client: Client, operation: str) -> None:
        """ErrorResponse: code 22 if the table has no such branch."""
        client.prepare(operation)
        with client.unchanged(), raises("TABLE_BRANCH_NOT_FOUND"):
            client.example(operation, **_ABSENT_BRANCH.get(operation, {"branch": _ABSENT}))

    @for_each(_with("TABLE_COLUMN_NOT_FOUND"), "TABLE_COLUMN_NOT_FOUND")
    @needs()
    def test_missing_column(self, client: Client, operation: str) -> None:
        """Error Handling: code 12 if the request names a column that the table does not have."""
        client.prepare(operation)
        with client.unchanged(), raises("TABLE_COLUMN_NOT_FOUND"):
            client.example(operation, **_ABSENT_COLUMN[operation])

    @for_each([name for name in answering("INVALID_TABLE_STATE") if name not in _WITHOUT_DATA], "INVALID_TABLE_STATE")
    @needs("declare_table")
    def test_declared_only(self, client: Client, operation: str) -> None:
        """Error Handling: code 19 for what needs data if the table was only declared; it stays declared."""
        client("declare_table", id=TABLE)
        with client.unchanged(), raises("INVALID_TABLE_STATE"):
            client.example(operation)

    @for_each(
        [row.name for row in OPERATIONS.values() if row.subject in {Subject.TABLE, Subject.VIEW}], "INVALID_INPUT"
    )
    @needs()
    def test_no_identifier(self, client: Client, operation: str) -> None:
        """Objects & Relationships: the empty identifier is the root namespace, so code 13 where a table is meant."""
        fields = {**examples.fields(operation), "id": []}
        with client.unchanged(), raises("INVALID_INPUT"):
            client(operation, examples.data(operation), **fields)

"""The errors that all operations have in common: every operation answers the same code, and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lancespace.authoring import OPERATIONS, Payload, Subject, model
from lancespace_testing import examples
from lancespace_testing.client import Client, raises
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import Feature, answering, for_each, needs
from lancespace_testing.samples import SCHEMA, sample, stream

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

_BAD, _SCHEMA, _COLUMN = "INVALID_INPUT", "TABLE_SCHEMA_VALIDATION_ERROR", "TABLE_COLUMN_NOT_FOUND"
_NO_SQL = "this is ( no SQL"
_NO_STREAM = b"no Arrow stream"
_HALF_A_STREAM = stream(sample(0, 2000), batch_rows=100)[:-2000]
_OTHER = pa.table({"id": [1], "something": ["else"]})
_SHORT = {"single_vector": [1.0, 2.0]}

_REFUSED: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = {
    "insert_into_table": [
        (_BAD, {"mode": "perhaps"}),
        (_BAD, {"data": _NO_STREAM}),
        (_BAD, {"data": _HALF_A_STREAM}),
        (_BAD, {"data": _HALF_A_STREAM, "mode": "overwrite"}),
        (_SCHEMA, {"data": _OTHER.drop_columns("id")}),
    ],
    "merge_insert_into_table": [
        (_BAD, {"on": None}),
        (_BAD, {"when_matched_update_all_filt": _NO_SQL}),
        (_BAD, {"data": _NO_STREAM}),
        (_SCHEMA, {"data": _OTHER}),
    ],
    "update_table": [(_BAD, {"predicate": "id = = 1"}), (_BAD, {"updates": [["id", _NO_SQL]]})],
    "delete_from_table": [(_BAD, {"predicate": "id = = 1"})],
    "count_table_rows": [(_BAD, {"predicate": "id = = 1"})],
    "query_table": [
        (_BAD, {"filter": "id = = 1"}),
        (_BAD, {"vector": {"single_vector": [1.0, 2.0, 3.0]}}),
        (_BAD, {"vector": _SHORT, "vector_column": "name"}),
        (_BAD, {"vector": _SHORT, "distance_type": "no such distance"}),
        (_BAD, {"columns": {"column_names": ["id"], "column_aliases": {"number": "id"}}}),
        (_COLUMN, {"filter": f"{_ABSENT} = 1"}),
        (_COLUMN, {"columns": {"column_aliases": {"number": _ABSENT}}}),
        (_COLUMN, {"vector": _SHORT, "vector_column": _ABSENT}),
    ],
    "explain_table_query_plan": [(_BAD, {"query": {**examples.ALL_ROWS, "filter": "id = = 1"}})],
    "analyze_table_query_plan": [(_BAD, {"filter": "id = = 1"})],
    "alter_table_add_columns": [
        (_BAD, {"new_columns": [{"name": "more", "expression": _NO_SQL}]}),
        (_BAD, {"new_columns": [{"name": "more"}]}),
        (_BAD, {"new_columns": []}),
        (_SCHEMA, {"new_columns": [{"name": "name", "expression": "id * 2"}]}),
    ],
    "alter_table_alter_columns": [
        (_BAD, {"alterations": []}),
        (_BAD, {"alterations": [{"path": "name"}]}),
        (_SCHEMA, {"alterations": [{"path": "vector", "data_type": {"type": "int32"}}]}),
        (_SCHEMA, {"alterations": [{"path": "name", "rename": "id"}]}),
    ],
    "alter_table_drop_columns": [(_BAD, {"columns": []}), (_SCHEMA, {"columns": SCHEMA.names})],
    "alter_table_backfill_columns": [(_BAD, {})],  # The column is neither virtual nor computed.
    "create_table_index": [
        (_BAD, {"column": "id", "index_type": "NO_SUCH_TYPE"}),
        (_BAD, {"column": "name", "index_type": "IVF_FLAT"}),
    ],
    "create_table_scalar_index": [
        (_BAD, {"index_type": "NO_SUCH_TYPE"}),
        (_BAD, {"column": "vector", "index_type": "IVF_FLAT"}),
    ],
    **dict.fromkeys(("drop_table_index", "describe_table_index_stats"), (("TABLE_INDEX_NOT_FOUND", {}),)),
    **dict.fromkeys(("get_table_tag_version", "update_table_tag", "delete_table_tag"), (("TABLE_TAG_NOT_FOUND", {}),)),
    "create_table_tag": [(_BAD, {"tag": name}) for name in ("", "../up", "a b")],
    "create_table_branch": [(_BAD, {"name": name}) for name in ("", "../up", "a b")],
    "batch_delete_table_versions": [
        (_BAD, {"ranges": []}),
        (_BAD, {"ranges": [{"start_version": 3, "end_version": 1}]}),
        (_BAD, {"ranges": [{"start_version": -5, "end_version": 1}]}),
    ],
}
"""What is refused on the sample table, and with which code: the example of the operation with these fields changed."""

_WITH_OTHER_TESTS = {
    "register_table",  # Starts from a real location: see the group of tables.
    "create_table_version",  # Start from a staged manifest: see the group of commits.
    "batch_create_table_versions",
    "alter_table_backfill_columns",  # Start from a computed column or its job: see the group of jobs.
    "describe_transaction",
    "alter_transaction",
}


class ErrorTests(BackendFixtures):
    """Error Handling: objects that do not exist, and operations that the backend does not claim."""

    @for_each(answering("NAMESPACE_NOT_FOUND", but=_NOT_FOR_ALL), "NAMESPACE_NOT_FOUND")
    def test_missing_namespace(self, client: Client, operation: str) -> None:
        """Error Handling: code 1 if the namespace, or the one that the table would be in, does not exist."""
        exact = OPERATIONS[operation].subject is Subject.NAMESPACE and operation != "create_namespace"
        client.refuses_example("NAMESPACE_NOT_FOUND", operation, [_ABSENT] if exact else [_ABSENT, "child"])

    @for_each(answering("NAMESPACE_NOT_FOUND", but=_NOT_FOR_ALL), "NAMESPACE_NOT_FOUND")
    @needs(Feature.NESTED_NAMESPACES)
    def test_missing_nested_namespace(self, client: Client, operation: str) -> None:
        """Error Handling: code 1 also where the catalog has namespaces, and some of the identifier exists."""
        client("create_namespace", id=["there"])
        client.refuses_example("NAMESPACE_NOT_FOUND", operation, ["there", _ABSENT, "child"])

    @for_each(answering("TABLE_NOT_FOUND", but=_NOT_FOR_ALL), "TABLE_NOT_FOUND")
    def test_missing_table(self, client: Client, operation: str) -> None:
        """Error Handling: code 4 if the namespace exists and the table does not."""
        client.example("create_table", ["other"])
        client.refuses_example("TABLE_NOT_FOUND", operation, [_ABSENT])

    @for_each(answering("TABLE_NOT_FOUND", but=_NOT_FOR_ALL), "TABLE_NOT_FOUND")
    def test_missing_table_in_namespace(self, client: Client, operation: str) -> None:
        """Error Handling: code 4 for a table that is not in a child namespace, and the root's tables are no answer."""
        client("create_namespace", id=["there"])
        client.refuses_example("TABLE_NOT_FOUND", operation, ["there", _ABSENT])

    @for_each(answering("TABLE_VERSION_NOT_FOUND", but={"batch_delete_table_versions"}), "TABLE_VERSION_NOT_FOUND")
    def test_missing_version(self, client: Client, operation: str) -> None:
        """Error Handling: code 11 if the table has no such version."""
        client.prepare(operation)
        fields = _ABSENT_VERSION.get(operation, {"version": _NO_VERSION})
        client.refuses_example("TABLE_VERSION_NOT_FOUND", operation, **fields)

    @for_each(answering("TABLE_BRANCH_NOT_FOUND"), "TABLE_BRANCH_NOT_FOUND")
    def test_missing_branch(self, client: Client, operation: str) -> None:
        """ErrorResponse: code 22 if the table has no such branch."""
        client.prepare(operation)
        fields = _ABSENT_BRANCH.get(operation, {"branch": _ABSENT})
        client.refuses_example("TABLE_BRANCH_NOT_FOUND", operation, **fields)

    @for_each(answering("TABLE_COLUMN_NOT_FOUND"), "TABLE_COLUMN_NOT_FOUND")
    def test_missing_column(self, client: Client, operation: str) -> None:
        """Error Handling: code 12 if the request names a column that the table does not have."""
        client.prepare(operation)
        client.refuses_example("TABLE_COLUMN_NOT_FOUND", operation, **_ABSENT_COLUMN[operation])

    @for_each({operation: [code for code, _ in refused] for operation, refused in _REFUSED.items()})
    def test_refused(self, table: Client, operation: str) -> None:
        """Error Handling: what is no valid request for this table is refused with its code, and changes nothing."""
        for code, fields in _REFUSED[operation]:
            request = {"data": examples.data(operation), **examples.fields(operation), **fields}
            table.refuses(code, operation, **request)

    @for_each(answering("INVALID_TABLE_STATE", but=_WITHOUT_DATA), "INVALID_TABLE_STATE")
    def test_declared_only(self, client: Client, operation: str) -> None:
        """Error Handling: code 19 for what needs data if the table was only declared; it stays declared."""
        client("declare_table")
        client.refuses_example("INVALID_TABLE_STATE", operation)

    @for_each(
        [row.name for row in OPERATIONS.values() if row.subject in {Subject.TABLE, Subject.VIEW}], "INVALID_INPUT"
    )
    def test_no_identifier(self, client: Client, operation: str) -> None:
        """Objects & Relationships: the empty identifier is the root namespace, so code 13 where a table is meant."""
        fields = {**examples.fields(operation), "id": []}
        client.refuses("INVALID_INPUT", operation, examples.data(operation), **fields)

    @for_each([name for name in OPERATIONS if name not in _WITH_OTHER_TESTS], None)
    def test_supported_operation(self, client: Client, operation: str) -> None:
        """Operations: an operation that is claimed answers a good request with its response model."""
        client.prepare(operation)
        row = OPERATIONS[operation]
        expected = str if row.result is Payload.TEXT else model(row.response)
        assert isinstance(client.example(operation), expected)

    def test_unsupported_operations(self, client: Client) -> None:
        """Error Handling: code 0 for an operation that is not claimed."""
        anything = replace(client, supported=frozenset(OPERATIONS))
        for operation in sorted(OPERATIONS.keys() - client.supported):
            with client.unchanged(), raises("UNSUPPORTED"):
                anything.example(operation)

    def test_capabilities_are_operations(self, client: Client) -> None:
        """Operations: what is claimed are operations of the spec, by their names."""
        assert client.supported
        assert client.supported <= OPERATIONS.keys()

"""One valid request for every operation, and the operations that make the world in which it succeeds.

The tests that treat all operations alike are made from these, such as that each answers code 4 for a table that is not
there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from lancespace.authoring import OPERATIONS, Subject
from lancespace_testing.samples import SCHEMA, sample

Fields = dict[str, Any]

NAMESPACE = ["space"]
TABLE = ["t"]
VIEW = ["view"]
INDEX = "id_idx"
TAG = "first"
BRANCH = "dev"

ALL_ROWS: Fields = {"vector": {}, "k": 1000}
"""The query without a vector search: the spec requires both fields."""

_FIELDS: Mapping[str, Fields] = {
    "rename_table": {"new_table_name": "renamed"},
    "register_table": {"location": "somewhere"},
    "merge_insert_into_table": {"on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True},
    "update_table": {"updates": [["name", "'new'"]]},
    "delete_from_table": {"predicate": "id = 0"},
    "query_table": ALL_ROWS,
    "explain_table_query_plan": {"query": ALL_ROWS},
    "analyze_table_query_plan": ALL_ROWS,
    "alter_table_add_columns": {"new_columns": [{"name": "twice", "expression": "id * 2"}]},
    "alter_table_alter_columns": {"alterations": [{"path": "name", "rename": "label"}]},
    "alter_table_drop_columns": {"columns": ["name"]},
    "alter_table_backfill_columns": {"column": "name"},
    "update_table_schema_metadata": {"metadata": {"owner": "me"}},
    "update_field_metadata": {"updates": [{"path": "name", "metadata": {"unit": "words"}}]},
    "create_table_index": {"column": "vector", "index_type": "IVF_FLAT", "name": "vector_idx", "num_partitions": 1},
    "create_table_scalar_index": {"column": "id", "index_type": "BTREE", "name": INDEX},
    "describe_table_index_stats": {"index_name": INDEX},
    "drop_table_index": {"index_name": INDEX},
    "describe_table_version": {"version": 1},
    "create_table_version": {"version": 2, "manifest_path": "staged.manifest"},
    "batch_delete_table_versions": {"ranges": [{"start_version": 1, "end_version": 2}]},
    "restore_table": {"version": 1},
    "get_table_tag_version": {"tag": TAG},
    "create_table_tag": {"tag": TAG, "version": 1},
    "update_table_tag": {"tag": TAG, "version": 1},
    "delete_table_tag": {"tag": TAG},
    "create_table_branch": {"name": BRANCH},
    "delete_table_branch": {"name": BRANCH},
    "alter_transaction": {"actions": [{"setStatusAction": {"status": "Canceled"}}]},
    "create_materialized_view": {
        "kind": "query",
        "source_query": json.dumps({"version": 1, "sql": "SELECT id, name, vector FROM t"}),
        "output_schema": base64.b64encode(SCHEMA.serialize().to_pybytes()).decode(),
    },
}

_IDS: Mapping[Subject, list[str]] = {
    Subject.NAMESPACE: NAMESPACE,
    Subject.TABLE: TABLE,
    Subject.VIEW: VIEW,
    Subject.TRANSACTION: ["no such transaction"],
}

_FIRST: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("create_namespace", "list_all_tables", "declare_table", "create_table"), ()),
    **dict.fromkeys(("describe_table_index_stats", "drop_table_index"), ("create_table", "create_table_scalar_index")),
    **dict.fromkeys(("batch_delete_table_versions", "restore_table"), ("create_table", "insert_into_table")),
    **dict.fromkeys(
        ("get_table_tag_version", "update_table_tag", "delete_table_tag"), ("create_table", "create_table_tag")
    ),
    "delete_table_branch": ("create_table", "create_table_branch"),
    "refresh_materialized_view": ("create_table", "create_materialized_view"),
}


def prerequisites(operation: str) -> tuple[str, ...]:
    """The operations whose examples must have been run for this one's to succeed, in order."""
    if operation in _FIRST:
        return _FIRST[operation]
    return ("create_namespace",) if OPERATIONS[operation].subject is Subject.NAMESPACE else ("create_table",)


def identifier_of(operation: str) -> Fields:
    """The usual object of an operation, as a field of the request; nothing for an operation of the whole catalog."""
    subject = OPERATIONS[operation].subject
    return {} if subject is Subject.CATALOG else {"id": _IDS[subject]}


def fields(operation: str, identifier: list[str] | None = None) -> Fields:
    """The request's fields, for another object than the usual one if wanted."""
    if usual := identifier_of(operation):
        return {"id": identifier or usual["id"], **_FIELDS.get(operation, {})}
    table = identifier or TABLE
    if operation == "batch_create_table_versions":
        return {"entries": [{"id": table, **_FIELDS["create_table_version"]}]}
    if operation == "batch_commit_tables":
        return {"operations": [{"deregister_table": {"id": table}}]}
    return {}


def data(operation: str) -> Any:
    """The Arrow table that goes with the request; None for operations that take none."""
    return sample() if OPERATIONS[operation].takes_data else None

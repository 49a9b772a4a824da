"""pylance's own DirectoryNamespace under the suite: what it falls short of, found by running and declared by defect.

Written for pylance 14.0.2. When a release pays one of these debts, its tests fail here until they are taken off the
list.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import lance
from lance.namespace import DirectoryNamespace
from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lancespace.authoring import OPERATIONS, Subject
from lancespace_testing import Conformance, Feature
from lancespace_testing.requirements import answering
from lancespace_testing.samples import sample
from tests.conformance import calling

_NOT_IMPLEMENTED = {
    "alter_transaction",
    "alter_table_backfill_columns",
    "create_materialized_view",
    "refresh_materialized_view",
}
_ON_TABLES = {row.name for row in OPERATIONS.values() if row.subject is Subject.TABLE}


def _cases(test: str, operations: Iterable[str]) -> list[str]:
    return [f"{test}[{operation}]" for operation in sorted(operations)]


_DEFECTS: dict[str, list[str]] = {
    "rename_table is not implemented": [
        "test_rename_*",
        "test_*[rename_table]",
        "test_old_name_is_free_after_rename",
        "test_bad_new_names",
        "test_one_renamer_wins",
        "test_one_taker_of_a_name_wins",
    ],
    "what is not implemented raises NotImplementedError, not code 0": ["test_unsupported_operations"],
    "two tables can share a location, and dropping one deletes the rows of the other": [
        "test_two_names_for_one_location"
    ],
    "DropNamespace ignores the behavior Cascade": [
        "test_drop_namespace_cascade",
        "test_namespace_after_cascade_is_empty",
    ],
    "CreateNamespace and DropNamespace ignore their modes": [
        "test_create_namespace_exist_ok",
        "test_create_namespace_overwrite",
        "test_unknown_namespace_modes",
        "test_drop_missing_namespace_skip",
    ],
    "a namespace without properties has null, not an empty object": ["test_namespace_without_properties"],
    "a table can be created and declared in a namespace that is not there": [
        *_cases("test_missing_namespace", ("declare_table", "create_table")),
        "test_declare_against_drop_of_the_namespace",
    ],
    "a missing namespace is reported as a missing table": [
        *_cases("test_missing_namespace", ("deregister_table", "drop_table")),
        "test_missing_namespace[alter_table_*",
        *_cases("test_missing_nested_namespace", _ON_TABLES - {"register_table"}),
    ],
    "listing a missing namespace below an existing one answers an empty list": _cases(
        "test_missing_nested_namespace", ("list_namespaces", "list_tables")
    ),
    "an empty identifier is reported as unsupported, or as a ValueError": _cases(
        "test_no_identifier",
        _ON_TABLES - {"declare_table", "register_table", "create_table", "deregister_table", "drop_table"},
    ),
    "names that are none, or lead out of the catalog, are taken": [
        "test_bad_names*",
    ],
    "names with other than ASCII letters are listed percent-encoded": ["test_table_names_come_back"],
    "list_all_tables lists the root only, and its pages lose tables": [
        "test_list_all_tables",
        "test_list_all_tables_without_declared",
        "test_pages_*[list_all_tables]",
        "test_token_only_if_there_is_more[list_all_tables]",
    ],
    "a limit loses all versions beyond the first page: there is no token": [
        "test_pages_hold_everything_once[list_table_versions]",
        "test_token_only_if_there_is_more[list_table_versions]",
        "test_pages_while_versions_come*",
    ],
    "tags and branches are listed without pages": [
        *_cases("test_pages_hold_everything_once", ("list_table_tags", "list_table_branches")),
        *_cases("test_token_only_if_there_is_more", ("list_table_tags", "list_table_branches")),
    ],
    "any limit and any token are taken": ["test_bad_limit*", "test_bad_token*"],
    "a table that is registered in the root of a fresh catalog is not found": [
        "test_register_table",
        "test_one_registrar_wins",
    ],
    "RegisterTable ignores its mode": ["test_register_table_refused", "test_register_table_overwrite"],
    "a deregistered table of the root still exists": ["test_deregister_table"],
    "DescribeTable has no statistics": ["test_describe_table_in_detail", "test_describe_table_at_version"],
    "DescribeTable ignores the tag": ["test_describe_table_at_tag"],
    "DescribeTable and TableExists take any version": _cases(
        "test_missing_version", ("describe_table", "table_exists")
    ),
    "table_uri is a path": ["test_table_uri"],
    "a branch is ignored: writes go to main, reads come from main": [
        *_cases("test_missing_branch", set(answering("TABLE_BRANCH_NOT_FOUND")) - {"delete_table_branch"}),
        "test_insert_into_branch",
        "test_merge_into_branch",
        "test_update_all_rows_of_a_branch",
        "test_delete_from_branch",
        "test_query_branch",
        "test_index_of_branch",
        "test_columns_of_branch",
        "test_schema_metadata_of_branch",
        "test_list_versions_of_branch",
        "test_restore_branch",
        "test_tag_of_branch",
        "test_create_branch_from_*",
        "test_create_existing_branch",
        "test_delete_branch",
    ],
    "a declared table is reported as a missing one": ["test_declared_only*"],
    "a missing column is reported as an internal or runtime error, or as bad input": [
        *_cases(
            "test_missing_column",
            set(answering("TABLE_COLUMN_NOT_FOUND")) - {"create_table_index", "create_table_scalar_index"},
        ),
    ],
    "a missing version is reported as bad input or as a RuntimeError": _cases(
        "test_missing_version", ("restore_table", "create_table_branch")
    ),
    "bad SQL is reported as an internal or runtime error": [
        *_cases(
            "test_refused",
            (
                "count_table_rows",
                "query_table",
                "explain_table_query_plan",
                "analyze_table_query_plan",
                "alter_table_add_columns",
            ),
        ),
    ],
    "a bad Arrow stream is reported as an internal error": [
        "test_create_table_from_garbage",
        "test_create_table_from_broken_stream",
        "test_overwrite_with_broken_stream",
        "test_refused[insert_into_table]",
    ],
    "a bad schema is reported as an internal error": ["test_create_table_with_impossible_schema"],
    "a stream without batches creates no table": ["test_create_empty_table"],
    "an offset is taken from the k nearest rows instead of coming before them": ["test_query_vector_options"],
    "the statistics of a vector index have no distance": ["test_create_vector_index"],
    "an index that the column cannot have is reported as an internal error": ["test_refused[create_table_index]"],
    "CreateTableScalarIndex answers with another operation's model": [
        "test_supported_operation[create_table_scalar_index]"
    ],
    "DeleteTableVersions takes ranges that are none, and versions that a tag names": [
        "test_refused[batch_delete_table_versions]",
        "test_delete_tagged_version",
    ],
    "the same CreateTableVersion again is a conflict": ["test_create_version_again"],
    "a data type has to be a JSON string instead of the spec's object": ["test_alter_columns"],
    "altering or dropping no columns at all is taken": _cases(
        "test_refused", ("alter_table_alter_columns", "alter_table_drop_columns")
    ),
    "UpdateTableSchemaMetadata merges where it should replace": ["test_schema_metadata"],
    "the number of rows has the deleted ones in it": ["test_stats_without_deleted_rows"],
    "a transaction is only looked for below a table": ["test_missing_transaction[describe_transaction]"],
    "virtual columns are refused": ["test_add_virtual_column"],
    "who loses a race gets an internal or runtime error": [
        *_cases(
            "test_racing_writers",
            (
                "alter_table_add_columns",
                "alter_table_alter_columns",
                "alter_table_drop_columns",
                "update_table_schema_metadata",
                "create_table_branch",
            ),
        ),
        "test_racing_first_inserts",
        "test_one_creator_wins",
        "test_one_creator_of_two_clients_wins",
        "test_existing_is_ok_for_all",
        "test_an_overwriter_replaces_or_conflicts",
        "test_create_against_drop",
    ],
}


class TestPylanceDirectory(Conformance):
    debts = {test: defect for defect, tests in _DEFECTS.items() for test in tests}  # noqa: RUF012 - typed by the suite
    features = frozenset(Feature) - {Feature.TABLE_PROPERTIES, Feature.SQL_VIEWS}

    def connect(self, workdir: Path) -> LanceNamespace:
        namespace: LanceNamespace = DirectoryNamespace(root=str(workdir))
        return namespace

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> LanceNamespace:  # noqa: ARG002 - two are alike
        return self.connect(workdir)

    def capabilities(self, namespace: LanceNamespace) -> set[str]:
        return set(super().capabilities(namespace)) - _NOT_IMPLEMENTED

    def place_table(self, workdir: Path, name: str) -> str:
        """It registers only what is in its root already, by the relative path."""
        lance.write_dataset(sample(), str(workdir / name))
        return name

    def call(self, namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
        return calling.call(namespace, operation, request, data)

"""The table of operations against the installed spec: a new release of the spec must show up here."""

from __future__ import annotations

import inspect
import re
import typing
from dataclasses import FrozenInstanceError
from typing import Any

import lance_namespace
import pytest
from lance_namespace import ErrorCode, LanceNamespace
from lance_namespace_urllib3_client import api

from lancespace._operations import ALIASES, BASIC_OPERATIONS
from lancespace.authoring import (
    COMMON_ERRORS,
    HEADER_FIELDS,
    OPERATIONS,
    Operation,
    Payload,
    Subject,
    error_class,
    model,
)

RUST_TRAIT = """
    list_namespaces describe_namespace create_namespace drop_namespace namespace_exists
    list_tables describe_table register_table table_exists drop_table deregister_table count_table_rows
    create_table declare_table insert_into_table merge_insert_into_table update_table delete_from_table query_table
    create_table_index list_table_indices describe_table_index_stats describe_transaction alter_transaction
    create_table_scalar_index drop_table_index list_all_tables restore_table rename_table
    list_table_versions create_table_version describe_table_version batch_delete_table_versions
    update_table_schema_metadata get_table_stats explain_table_query_plan analyze_table_query_plan
    alter_table_add_columns alter_table_alter_columns alter_table_drop_columns alter_table_backfill_columns
    refresh_materialized_view create_materialized_view
    list_table_tags get_table_tag_version create_table_tag delete_table_tag update_table_tag
"""
"""The operations of the Rust implementation's trait."""

APIS = [value for name, value in vars(api).items() if name.endswith("Api")]

every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)


def base_methods() -> dict[str, Any]:
    return {name: value for name, value in vars(LanceNamespace).items() if not name.startswith("_") and callable(value)}


def client_sources(operation: Operation) -> tuple[str, str]:
    """The generated client's method for an operation, and the one that makes its HTTP request."""
    owner = next(one for one in APIS if operation.name in vars(one))
    return (
        inspect.getsource(vars(owner)[operation.name]),
        inspect.getsource(vars(owner)[f"_{operation.name}_serialize"]),
    )


def only(pattern: str, text: str) -> str:
    (found,) = re.findall(pattern, text)
    return str(found)


def test_there_is_a_row_for_every_method_of_the_base_class():
    assert set(OPERATIONS) | set(ALIASES) == set(base_methods()) - {"namespace_id"}
    assert len(OPERATIONS) == 54


def test_there_is_a_row_for_every_route_of_the_generated_client():
    routed = {name[1:].removesuffix("_serialize") for one in APIS for name in vars(one) if name.endswith("_serialize")}

    assert routed == set(OPERATIONS)


def test_the_rust_trait_is_covered():
    names = set(RUST_TRAIT.split())

    assert len(names) == 48
    assert names <= set(OPERATIONS)


@every_operation
def test_models_are_those_of_the_base_class(operation: Operation):
    hints = typing.get_type_hints(base_methods()[operation.name])

    assert hints["request"] is model(operation.request)
    assert hints["return"] is (str if operation.result is Payload.TEXT else model(operation.response))
    assert ("request_data" in hints) is operation.takes_data


@every_operation
def test_errors_include_those_of_the_base_class(operation: Operation):
    documented = re.findall(r"^\s*(\w+Error)$", inspect.getdoc(base_methods()[operation.name]) or "", re.MULTILINE)
    listed = {error_class(code) for code in (*operation.errors, *COMMON_ERRORS)}

    assert {getattr(lance_namespace, name) for name in documented} <= listed


def test_common_errors_include_those_of_the_base_class():
    documented = re.findall(r"^- (\w+Error):", inspect.getdoc(LanceNamespace) or "", re.MULTILINE)

    assert documented
    assert set(documented) <= {error_class(code).__name__ for code in COMMON_ERRORS}


def test_every_error_code_is_raised_by_some_operation():
    listed = {code for operation in OPERATIONS.values() for code in (*operation.errors, *COMMON_ERRORS)}

    assert listed == {code.name for code in ErrorCode}


@every_operation
def test_route_is_that_of_the_generated_client(operation: Operation):
    _, request = client_sources(operation)

    assert only(r"method='(\w+)'", request) == operation.method
    assert only(r"resource_path='([^']+)'", request) == operation.route
    assert tuple(re.findall(r"_path_params\['(\w+)'\]", request)) == operation.path_fields


@every_operation
def test_query_parameters_are_those_of_the_generated_client(operation: Operation):
    _, request = client_sources(operation)
    parameters = re.findall(r"_query_params\.append\(\('(\w+)'", request)

    assert parameters.pop(0) == "delimiter", "every route takes the delimiter of identifiers"
    assert parameters == list(operation.query)


@every_operation
def test_body_is_that_of_the_generated_client(operation: Operation):
    call, request = client_sources(operation)
    bodies = set(re.findall(r"_body_params = (\w+)", request)) - {"_fp"}
    content = re.search(r"select_header_content_type\(\s*\[\s*'([^']+)'\s*\]", request)
    wanted = {
        Payload.EMPTY: (set(), None),
        Payload.JSON: ({_snake(operation.request)}, "application/json"),
        Payload.STRING_MAP: ({"request_body"}, "application/json"),
        Payload.ARROW_STREAM: ({"body"}, "application/vnd.apache.arrow.stream"),
    }

    assert (bodies, content and content[1]) == wanted[operation.body]
    if operation.body is Payload.STRING_MAP:
        assert "request_body: Dict[str, StrictStr]" in call


@every_operation
def test_result_is_that_of_the_generated_client(operation: Operation):
    call, _ = client_sources(operation)
    (status, answer), *_ = re.findall(r"'(2\d\d)': (.+),", call)
    wanted = {
        Payload.EMPTY: "None",
        Payload.JSON: f'"{operation.response}"',
        Payload.STRING_MAP: '"Dict[str, str]"',
        Payload.ARROW_FILE: '"bytearray"',
        Payload.INTEGER: '"int"',
        Payload.TEXT: '"str"',
    }

    assert answer == wanted[operation.result]
    assert int(status) == operation.status


@every_operation
def test_fields_named_by_a_row_exist(operation: Operation):
    fields = model(operation.request).model_fields.keys()

    assert {*operation.path_fields, *operation.query, *HEADER_FIELDS} <= fields
    assert {*operation.errors} <= {code.name for code in ErrorCode}
    assert not {*operation.errors} & {*COMMON_ERRORS}


def test_operations_without_an_identifier_in_their_route_are_about_the_catalog():
    catalog = {name for name, operation in OPERATIONS.items() if operation.subject is Subject.CATALOG}

    assert catalog == {name for name, operation in OPERATIONS.items() if "id" not in operation.path_fields}


def test_basic_operations_are_eight_rows_of_metadata():
    assert len(set(BASIC_OPERATIONS)) == 8
    assert set(BASIC_OPERATIONS) <= set(OPERATIONS)


def test_aliases_stand_for_rows():
    assert ALIASES == {"create_empty_table": "declare_table"}


def test_operation_id_is_the_spec_s_name():
    assert OPERATIONS["list_all_tables"].operation_id == "ListAllTables"


def test_table_is_read_only():
    with pytest.raises(TypeError):
        OPERATIONS["new"] = OPERATIONS["list_tables"]  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        OPERATIONS["list_tables"].writes = True  # type: ignore[misc]


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lance_namespace import (
    CreateTableRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    InvalidInputError,
    ListTablesRequest,
    QueryTableRequest,
)
from lance_namespace_urllib3_client.models.query_table_request_vector import QueryTableRequestVector

from lancespace._requests import build
from lancespace.authoring import OPERATIONS, Operation, Subject


def built(operation: str, request: Any = None, /, **fields: Any) -> Any:
    return build(OPERATIONS[operation], request, fields)


def refusal(operation: str, request: Any = None, /, **fields: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        built(operation, request, **fields)
    return str(caught.value)


def test_request_object_is_passed_on_as_it_is():
    request = DescribeTableRequest(id=["a", "b"], version=3)

    assert built("describe_table", request) is request


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        ("sales.orders", {"version": 3}),
        (["sales", "orders"], {"version": 3}),
        (("sales", "orders"), {"version": 3}),
        (None, {"id": "sales.orders", "version": 3}),
        (None, {"id": ["sales", "orders"], "version": 3}),
        ({"id": ["sales", "orders"], "version": 3}, {}),
        ({"id": "sales.orders"}, {"version": 3}),
    ],
)
def test_every_form_makes_the_same_request(request_: Any, fields: dict[str, Any]):
    assert built("describe_table", request_, **fields) == DescribeTableRequest(id=["sales", "orders"], version=3)


def test_none_is_as_good_as_leaving_a_field_out():
    assert built("list_tables", "sales", limit=None, include_declared=None) == ListTablesRequest(id=["sales"])


def test_subclass_of_a_request_is_a_request():
    class Mine(DescribeTableRequest):
        pass

    assert built("describe_table", Mine(id=["t"])) == DescribeTableRequest(id=["t"])


def test_request_of_a_deprecated_operation_is_taken_over():
    assert built("declare_table", CreateTableRequest(id=["t"], properties={"a": "b"})) == DeclareTableRequest(
        id=["t"], properties={"a": "b"}
    )


def test_request_of_another_operation_is_refused():
    assert refusal("declare_table", CreateTableRequest(id=["t"], mode="overwrite")) == (
        "declare_table takes a DeclareTableRequest, not a CreateTableRequest with mode."
    )


def test_request_object_and_fields_together_are_refused():
    assert refusal("list_tables", ListTablesRequest(), limit=3, page_token="x") == (
        "list_tables: pass either a request object or fields (limit, page_token), not both."
    )


def test_identifier_given_twice_is_refused():
    assert refusal("list_tables", "a", id="b") == (
        "list_tables: the identifier is given twice, as 'a' and as 'id': keep one."
    )


def test_unknown_field_is_refused_with_a_guess_and_the_known_ones():
    assert refusal("list_tables", "sales", limt=3) == (
        "list_tables has no field 'limt'. Did you mean 'limit'? "
        "Known: context, id, identity, include_declared, limit, page_token."
    )


def test_ill_typed_fields_are_named_all_at_once_and_without_their_values():
    message = refusal("list_tables", "sales", limit="hunter2", include_declared="hunter2")

    assert message == (
        "list_tables: the request is not valid: limit: Input should be a valid integer; "
        "include_declared: Input should be a valid boolean"
    )


def test_missing_field_is_named():
    assert "new_table_name: Field required" in refusal("rename_table", "sales.orders")


@pytest.mark.parametrize("identifier", [5, ["a", 5], ["a/b"], "a..b", ["a", ""]], ids=str)
def test_bad_identifier_is_refused_in_every_form(identifier: Any):
    assert refusal("describe_table", identifier).startswith("Invalid identifier")


def test_bad_identifier_is_refused_in_a_request_object():
    assert refusal("describe_table", DescribeTableRequest(id=["a", ".."])).startswith("Invalid identifier")


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_only_namespaces_and_the_catalog_have_a_root(operation: Operation):
    try:
        build(operation, None, {})
    except InvalidInputError as error:
        refused = "needs the identifier of a" in str(error)
        lacks_fields = "Field required" in str(error)
    else:
        refused = lacks_fields = False

    if not lacks_fields:
        assert refused is (operation.subject not in {Subject.NAMESPACE, Subject.CATALOG})


@pytest.mark.parametrize(
    "vector", [[1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]), np.array([1.0, 2.0], dtype="float32")], ids=repr
)
def test_vector_may_be_any_sequence_of_numbers(vector: Any):
    assert built("query_table", "t", vector=vector).vector.single_vector == [1.0, 2.0]


@pytest.mark.parametrize("vectors", [[[1.0], [2.0]], np.array([[1.0], [2.0]])], ids=["lists", "array"])
def test_several_vectors(vectors: Any):
    assert built("query_table", "t", vector=vectors).vector.multi_vector == [[1.0], [2.0]]


def test_columns_may_be_names_or_expressions():
    assert built("query_table", "t", columns=["a", "b"]).columns.column_names == ["a", "b"]
    assert built("query_table", "t", columns={"x": "a"}).columns.column_aliases == {"x": "a"}
    assert built("query_table", "t", columns={"column_names": ["a"]}).columns.column_names == ["a"]


def test_full_text_query_may_be_a_string():
    assert built("query_table", "t", full_text_query="puppy").full_text_query.string_query.query == "puppy"


def test_plain_query_means_all_rows():
    request = built("query_table", "t")

    assert request.k == 2**31 - 1
    assert (request.vector.single_vector, request.vector.multi_vector) == (None, None)


def test_plans_take_a_query_in_the_same_shape():
    plain = {"vector": [1.0], "columns": ["a"], "k": 3}

    assert built("explain_table_query_plan", "t", query=plain).query == built(
        "query_table", None, id="t", **plain
    ).model_copy(update={"id": None})
    assert built("analyze_table_query_plan", "t", **plain).vector.single_vector == [1.0]


def test_query_object_in_a_plan_is_taken_as_it_is():
    query = QueryTableRequest(k=1, vector=QueryTableRequestVector())

    assert built("explain_table_query_plan", "t", query=query).query == query


def test_nested_models_may_be_mappings():
    request = built("alter_table_add_columns", "t", new_columns=[{"name": "double", "expression": "a * 2"}])

    assert request.new_columns[0].expression == "a * 2"


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("batch_create_table_versions", {"entries": [{"id": ["a$b"], "version": 1, "manifest_path": "m"}]}),
        ("batch_create_table_versions", {"entries": [{"id": [], "version": 1, "manifest_path": "m"}]}),
        ("batch_commit_tables", {"operations": [{"deregister_table": {"id": ["a", ".."]}}]}),
        ("batch_commit_tables", {"operations": [{"deregister_table": {}}]}),
        ("batch_commit_tables", {"operations": [{}]}),
    ],
)
def test_identifiers_inside_a_batch_are_checked_too(operation: str, fields: dict[str, Any]):
    with pytest.raises(InvalidInputError, match="identifier"):
        build(OPERATIONS[operation], None, fields)

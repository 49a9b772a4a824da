"""What every operation sends, held against the client that is generated from the spec."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from lance_namespace_urllib3_client import api
from lance_namespace_urllib3_client.api_client import ApiClient
from lance_namespace_urllib3_client.configuration import Configuration
from pydantic import BaseModel

from lancespace.authoring import OPERATIONS, Operation, Payload, model
from lancespace_testing import examples
from lancespace_testing.samples import sample, stream
from plugins.rest.tests.support import Reply, Seen, Server

every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)

MORE: dict[str, dict[str, Any]] = {
    "list_tables": {"page_token": "a b+c/&", "limit": 7, "include_declared": False},
    "list_table_versions": {"branch": "dev/é", "descending": True},
    "describe_table": {"with_table_uri": True, "version": 3, "load_detailed_metadata": False},
    "create_table": {"mode": "overwrite", "properties": {"owner": "Zoë & co"}, "storage_options": {"region": "x"}},
    "merge_insert_into_table": {"on": ["id", "na me"], "when_matched_update_all_filt": "a = 'b&c'", "use_index": False},
    "drop_table_index": {"branch": "dev", "index_name": "50% of/it"},
    "update_table_schema_metadata": {"metadata": {"owner": "me", "ü": ""}, "branch": "dev"},
}
"""Fields beside those of the suite's examples, which are few: every kind of value in a query."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(lambda seen: Reply(500) if seen.headers["user-agent"].startswith("OpenAPI") else Reply()) as server:
        yield server


def minimal(kind: type[BaseModel]) -> dict[str, Any]:
    """A valid instance with nothing but what is required."""
    return {name: _some(info.annotation) for name, info in kind.model_fields.items() if info.is_required()}


def _some(annotation: Any) -> Any:
    if get_origin(annotation) in {Annotated, Union}:
        return _some(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return minimal(annotation)
    return {str: "x", int: 1, float: 1.0, bool: True}.get(annotation) or get_origin(annotation)()


def answer_to(operation: Operation) -> Reply:
    bodies: dict[Payload, Any] = {Payload.INTEGER: 3, Payload.TEXT: "plan", Payload.STRING_MAP: {"owner": "me"}}
    if operation.result is Payload.EMPTY:
        return Reply(operation.status, b"")
    value = bodies[operation.result] if operation.result in bodies else minimal(model(operation.response))
    return Reply(operation.status, json.dumps(value).encode(), {"content-type": "application/json"})


def request_of(operation: Operation) -> BaseModel:
    fields = {**examples.fields(operation.name), **MORE.get(operation.name, {})}
    return model(operation.request).model_validate(fields)


def generated(server: Server, operation: Operation, request: BaseModel, data: bytes) -> Seen:
    """The same request by the generated client."""
    modules = [kind for name, kind in vars(api).items() if name.endswith("Api")]
    name = f"{operation.name}_without_preload_content"
    call = next(
        getattr(kind(ApiClient(Configuration(host=server.uri))), name) for kind in modules if hasattr(kind, name)
    )
    arguments: dict[str, Any] = {"delimiter": "$"}
    for parameter in inspect.signature(call).parameters:
        value = getattr(request, parameter, None)
        if parameter == "id":
            arguments[parameter] = "$".join(value or []) or "$"
        elif parameter == "body":
            arguments[parameter] = data
        elif parameter == "request_body":
            arguments[parameter] = request.metadata  # type: ignore[attr-defined]
        elif parameter.endswith("_request"):
            arguments[parameter] = request
        elif value is not None:
            arguments[parameter] = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
    call(**arguments)
    return server.seen[-1]


def ours(server: Server, operation: Operation, request: BaseModel, data: bytes) -> Seen:
    server.script = answer_to(operation)
    with server.connect() as namespace:
        namespace.call(operation, request, data if operation.takes_data else None)
    return server.seen[-1]


@every_operation
def test_request_is_that_of_the_generated_client(server: Server, operation: Operation):
    if operation.result is Payload.ARROW_FILE:
        pytest.skip("its answer is Arrow data: see test_results.py")
    request, data = request_of(operation), stream(sample())
    mine = ours(server, operation, request, data)
    server.script = Reply()
    theirs = generated(server, operation, request, data)

    assert (mine.method, mine.segments) == (theirs.method, theirs.segments)
    assert sorted(mine.query) == sorted(theirs.query)
    assert mine.headers.get("content-type") == theirs.headers.get("content-type")
    if operation.body in {Payload.JSON, Payload.STRING_MAP}:
        assert mine.json == {name: value for name, value in theirs.json.items() if name not in operation.query}
    else:
        assert mine.body == theirs.body


@every_operation
def test_answer_is_the_response_model_with_the_headers_as_context(server: Server, operation: Operation):
    if operation.result is Payload.ARROW_FILE:
        pytest.skip("its answer is Arrow data: see test_results.py")
    server.script = Reply(**{**vars(answer_to(operation)), "headers": {"X-Request-Id": "abc"}})
    with server.connect() as namespace:
        method = getattr(namespace, operation.name)
        answer = (
            method(request_of(operation), stream(sample())) if operation.takes_data else method(request_of(operation))
        )

    if operation.result is Payload.TEXT:
        assert answer == "plan"
    else:
        kind: type[Any] = model(operation.response)
        assert type(answer) is kind
        assert answer.context["header.x-request-id"] == "abc"


def test_integer_and_string_map(server: Server):
    with server.connect() as namespace:
        server.script = answer_to(OPERATIONS["count_table_rows"])
        assert namespace.count_table_rows("t").count == 3
        server.script = answer_to(OPERATIONS["update_table_schema_metadata"])
        assert namespace.update_table_schema_metadata("t", metadata={"owner": "me"}).metadata == {"owner": "me"}


def test_plan_as_plain_text(server: Server):
    server.script = Reply(200, b"Scan\n  Filter", {"content-type": "text/plain; charset=utf-8"})
    with server.connect() as namespace:
        assert namespace.explain_table_query_plan("t", query={}) == "Scan\n  Filter"


def test_no_content_is_a_success(server: Server):
    server.script = Reply(204, b"")
    with server.connect() as namespace:
        namespace.table_exists("t")
        assert namespace.drop_table("t").location is None

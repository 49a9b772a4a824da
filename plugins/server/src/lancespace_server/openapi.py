"""The OpenAPI document, made from the table of operations and the models of the spec."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from lance_namespace import ErrorCode
from pydantic.json_schema import models_json_schema
from pydantic_core import to_json

from lancespace import __version__
from lancespace.authoring import COMMON_ERRORS, OPERATIONS, Operation, Payload, model
from lancespace_server.answers import ARROW_FILE, ARROW_STREAM
from lancespace_server.failures import status_of

if TYPE_CHECKING:
    from lancespace_server.settings import ServerSettings

Schema = dict[str, Any]

_REFERENCE = "#/components/schemas/{model}"
_BINARY = {"type": "string", "format": "binary"}
_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
_DESCRIPTIONS = {
    400: "The request is wrong; the message says where",
    401: "A credential is missing or wrong",
    403: "The caller may not do this",
    404: "There is no such object",
    406: "This namespace does not have the operation",
    408: "The body was sent too slowly",
    409: "The state of the object does not allow this, or somebody else was faster",
    413: "The body is too large",
    415: "The body is of another type",
    429: "The caller has too much under way",
    500: "The server failed",
    503: "The server, or what is behind it, is busy or out of reach",
    504: "The operation takes too long and goes on",
}
_ALWAYS = (408, 409, 413, 415, 504)
"""Statuses that come of the transport, or (409) of a state that a backend may find anything in."""


def document(settings: ServerSettings) -> bytes:
    """The document as JSON."""
    schemas = _schemas()
    paths: dict[str, Any] = {}
    for operation in OPERATIONS.values():
        paths.setdefault(operation.route, {})[operation.method.lower()] = _operation(operation, schemas)
    security = _security(settings)
    return to_json(
        {
            "openapi": "3.1.0",
            "info": {"title": "Lance REST Namespace", "version": __version__, "license": {"name": "Apache-2.0"}},
            "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": security},
            "security": [{name: []} for name in security],
        }
    )


@functools.cache
def _schemas() -> Schema:
    """All models, by name."""
    names = {name for row in OPERATIONS.values() for name in (row.request, row.response)} | {"ErrorResponse"}
    wanted = [(model(name), "validation") for name in sorted(names)]
    _, definitions = models_json_schema(wanted, ref_template=_REFERENCE)  # type: ignore[arg-type]
    found: Schema = definitions["$defs"]
    return found


def _operation(operation: Operation, schemas: Schema) -> Schema:
    made: Schema = {
        "operationId": operation.operation_id,
        "tags": [operation.subject.value, operation.kind.value],
        "parameters": [*_path_parameters(operation), *_query_parameters(operation, schemas)],
        "responses": {str(operation.status): _success(operation), **_errors(operation)},
    }
    content = _body(operation)
    return {**made, "requestBody": {"required": operation.takes_data, "content": content}} if content else made


def _path_parameters(operation: Operation) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in operation.path_fields
    ]


def _query_parameters(operation: Operation, schemas: Schema) -> list[Schema]:
    properties = schemas[operation.request]["properties"]
    delimiter = {"name": "delimiter", "in": "query", "schema": {"type": "string", "minLength": 1, "default": "$"}}
    return [delimiter, *(_query_parameter(name, properties[name]) for name in operation.query)]


def _query_parameter(name: str, schema: Schema) -> Schema:
    """A field as a query parameter: never null, and a map is one JSON text."""
    plain = next((kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"), schema)
    if plain.get("type") == "object":
        return {"name": name, "in": "query", "content": {"application/json": {"schema": _STRINGS}}}
    return {"name": name, "in": "query", "schema": plain}


def _body(operation: Operation) -> Schema:
    reference = {"$ref": _REFERENCE.format(model=operation.request)}
    contents: dict[Payload, Schema] = {
        Payload.JSON: {"application/json": {"schema": reference}},
        Payload.STRING_MAP: {"application/json": {"schema": _STRINGS}},
        Payload.ARROW_STREAM: {ARROW_STREAM.decode(): {"schema": _BINARY}},
    }
    return contents.get(operation.body, {})


def _success(operation: Operation) -> Schema:
    reference = {"$ref": _REFERENCE.format(model=operation.response)}
    contents: dict[Payload, Schema] = {
        Payload.JSON: {"application/json": {"schema": reference}},
        Payload.INTEGER: {"application/json": {"schema": {"type": "integer", "minimum": 0}}},
        Payload.TEXT: {"application/json": {"schema": {"type": "string"}}},
        Payload.STRING_MAP: {"application/json": {"schema": _STRINGS}},
        Payload.ARROW_FILE: {ARROW_FILE.decode(): {"schema": _BINARY}, ARROW_STREAM.decode(): {"schema": _BINARY}},
    }
    content = contents.get(operation.result)
    return {"description": "Done", **({"content": content} if content else {})}


def _errors(operation: Operation) -> Schema:
    codes = (ErrorCode[name] for name in (*operation.errors, *COMMON_ERRORS))
    statuses = sorted({*(status_of(code) for code in codes), *_ALWAYS})
    content = {"application/json": {"schema": {"$ref": _REFERENCE.format(model="ErrorResponse")}}}
    return {str(status): {"description": _DESCRIPTIONS[status], "content": content} for status in statuses}


def _security(settings: ServerSettings) -> Schema:
    schemes: dict[str, tuple[bool, Schema]] = {
        "BearerAuth": (settings.jwt_jwks is not None, {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}),
        "ClientCertificate": (settings.tls_client_ca is not None, {"type": "mutualTLS"}),
        "ApiKeyAuth": (settings.takes_api_keys(), {"type": "apiKey", "in": "header", "name": "x-api-key"}),
    }
    return {name: scheme for name, (is_on, scheme) in schemes.items() if is_on}

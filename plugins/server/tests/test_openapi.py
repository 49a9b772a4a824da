"""The document is made from the table, and says what is so."""

from __future__ import annotations

import json

import pytest

from lancespace.authoring import OPERATIONS, Operation, Payload
from lancespace_server.openapi import document
from lancespace_server.settings import API_KEYS_VARIABLE, ServerSettings

DOCUMENT = json.loads(document(ServerSettings()))


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_every_operation_is_in_it(operation: Operation):
    described = DOCUMENT["paths"][operation.route][operation.method.lower()]
    placed = {kind: [p["name"] for p in described["parameters"] if p["in"] == kind] for kind in ("path", "query")}

    assert described["operationId"] == operation.operation_id
    assert placed == {"path": list(operation.path_fields), "query": ["delimiter", *operation.query]}
    assert str(operation.status) in described["responses"]
    assert {"400", "401", "403", "406", "413", "429", "503"} <= set(described["responses"])
    assert ("requestBody" in described) is (operation.body is not Payload.EMPTY)


def test_arrow_bodies_are_declared():
    query = DOCUMENT["paths"]["/v1/table/{id}/query"]["post"]
    create = DOCUMENT["paths"]["/v1/table/{id}/create"]["post"]

    assert list(query["responses"]["200"]["content"]) == [
        "application/vnd.apache.arrow.file",
        "application/vnd.apache.arrow.stream",
    ]
    assert list(create["requestBody"]["content"]) == ["application/vnd.apache.arrow.stream"]
    assert query["responses"]["404"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ErrorResponse"
    }


def test_references_lead_somewhere():
    text = json.dumps(DOCUMENT)
    named = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}

    assert named <= set(DOCUMENT["components"]["schemas"])


def test_ways_to_authenticate_are_those_that_are_on():
    settings = ServerSettings(api_keys="file", jwt_jwks="keys", tls_client_ca="ca")

    assert set(json.loads(document(settings))["components"]["securitySchemes"]) == {
        "ApiKeyAuth",
        "BearerAuth",
        "ClientCertificate",
    }
    assert DOCUMENT["security"] == []


def test_keys_of_the_environment_are_a_way_to_authenticate(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(API_KEYS_VARIABLE, "alice:1")

    assert list(json.loads(document(ServerSettings()))["components"]["securitySchemes"]) == ["ApiKeyAuth"]

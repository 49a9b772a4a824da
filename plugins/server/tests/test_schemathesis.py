"""schemathesis against /openapi.json: no answer that the document does not declare, none that is the server's fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lancespace.authoring import OPERATIONS
from lancespace_testing.samples import sample, stream
from plugins.server.tests.hosting import client, served

EXAMPLES = 15
"""Per operation, the same in every run: enough to find most mistakes, few enough to run with every change."""
FEW = 3
"""Where the examples were tried before, and only the caller is another."""

pytestmark = pytest.mark.slow

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def _register_arrow() -> None:
    """Bodies: sound ones and any others."""
    sound = st.just(stream(sample()))
    schemathesis.openapi.media_type("application/vnd.apache.arrow.stream", sound | st.binary(max_size=200))


_register_arrow()


KEYS = {"LANCESPACE_SERVER_API_KEYS": "tester:a-key"}


@pytest.mark.parametrize(("keys", "examples"), [({}, EXAMPLES), (KEYS, FEW)], ids=["everybody", "callers with a key"])
def test_the_document_is_kept(tmp_path: Path, keys: dict[str, str], examples: int):
    headers = {"x-api-key": "a-key"} if keys else {}
    quiet = served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", "--no-access-log", environment=keys)
    with quiet as server, client(server, headers=headers) as http:
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        seen = set()
        for result in schema.get_all_operations():
            assert isinstance(result, Ok)
            operation = result.ok()
            seen.add(operation.definition.raw["operationId"])
            _explore(operation, http, headers, examples)
        assert server.process.poll() is None

    assert seen == {row.operation_id for row in OPERATIONS.values()}


def _explore(
    operation: schemathesis.APIOperation[Any, Any, Any, Any],
    http: httpx.Client,
    headers: dict[str, str],
    examples: int,
) -> None:
    arrow = {"content-type": "application/vnd.apache.arrow.stream"}
    http.post("/v1/table/things/create?mode=overwrite", content=stream(sample()), headers=arrow).raise_for_status()

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), is_there=st.booleans())
    def explore(case: schemathesis.Case[Any], is_there: bool) -> None:
        if is_there and "id" in case.path_parameters:
            case.path_parameters["id"] = "things"
            if isinstance(case.body, dict):
                case.body.pop("id", None)
        case.call_and_validate(checks=CHECKS, headers=headers)

    explore()

"""OpenTelemetry: a span per request, in the caller's trace."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lancespace import connect
from lancespace_server import ServerSettings, create_app, pace
from lancespace_server.request import Request
from lancespace_server.tracing import Tracing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    made, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return made


def test_requests_are_spans_of_the_callers_trace(exporter: InMemorySpanExporter):
    async def call() -> httpx.Response:
        app = create_app(connect("memory"), ServerSettings(access_log=False))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            return await http.get("/v1/table", headers={"traceparent": PARENT, "x-request-id": "r1"})

    assert asyncio.run(call()).status_code == 200
    assert_span_of_the_caller(exporter)


def test_those_that_are_answered_at_once_too(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pace, "TRUST", 0)
    headers = [(b"host", b"localhost"), (b"traceparent", PARENT.encode()), (b"x-request-id", b"r1")]
    request = Request("GET", "/v1/table", b"", headers, "127.0.0.1", is_secure=False)

    async def call() -> int:
        app: Any = create_app(connect("memory"), ServerSettings(access_log=False))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            await http.get("/v1/table")
        exporter.clear()
        return int(app.at_once(request, b"").status)

    assert asyncio.run(call()) == 200
    assert_span_of_the_caller(exporter)


def assert_span_of_the_caller(exporter: InMemorySpanExporter) -> None:
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("list_all_tables", trace.SpanKind.SERVER)
    assert f"{span.context.trace_id:032x}" == PARENT.split("-")[1]
    assert dict(span.attributes or {}) == {"lancespace.request_id": "r1", "enduser.id": "anonymous"}


def test_without_a_provider_there_are_no_spans():
    with Tracing().span("list_all_tables", None) as span:  # type: ignore[arg-type]
        assert span is None

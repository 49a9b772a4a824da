"""OpenTelemetry: a span per request, in the caller's trace."""

from __future__ import annotations

import asyncio

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lancespace import connect
from lancespace_server import ServerSettings, create_app
from lancespace_server.tracing import Tracing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_requests_are_spans_of_the_callers_trace(monkeypatch: pytest.MonkeyPatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)

    async def call() -> httpx.Response:
        app = create_app(connect("memory"), ServerSettings(access_log=False))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            return await http.get("/v1/table", headers={"traceparent": PARENT, "x-request-id": "r1"})

    assert asyncio.run(call()).status_code == 200
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("list_all_tables", trace.SpanKind.SERVER)
    assert f"{span.context.trace_id:032x}" == PARENT.split("-")[1]
    assert dict(span.attributes or {}) == {"lancespace.request_id": "r1", "enduser.id": "anonymous"}


def test_without_a_provider_there_are_no_spans():
    with Tracing().span("list_all_tables", None) as span:  # type: ignore[arg-type]
        assert span is None

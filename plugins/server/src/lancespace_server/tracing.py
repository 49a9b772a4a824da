"""OpenTelemetry: a span per request where the API is installed and a provider is set up; nothing otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lancespace_server.request import Request

_NOTHING: AbstractContextManager[Any] = nullcontext()


class Tracing:
    """Makes spans that continue the caller's trace (``traceparent``) and are around the operation."""

    def __init__(self) -> None:
        self._tracer = _tracer()

    def span(self, operation: str, request: Request) -> AbstractContextManager[Any]:
        """The span of a request."""
        return _NOTHING if self._tracer is None else self._started(operation, request)

    @contextmanager
    def _started(self, operation: str, request: Request) -> Iterator[Any]:
        from opentelemetry import propagate, trace

        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.others}
        attributes = {"lancespace.request_id": request.request_id, "enduser.id": request.principal}
        with self._tracer.start_as_current_span(
            operation, propagate.extract(carrier), trace.SpanKind.SERVER, attributes=attributes
        ) as span:
            yield span


def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ModuleNotFoundError:
        return None
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider.get_tracer("lancespace_server")

"""What is counted, as OpenMetrics; several workers are added up."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from lancespace.authoring import BUCKETS
from lancespace_server.reloading import count_failed

if TYPE_CHECKING:
    from lancespace_server.pool import Pool

CONTENT_TYPE = CONTENT_TYPE_LATEST
SHARED_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The directory in which workers share their numbers; the client library reads it when it is imported."""


class Metrics:
    """The numbers of a server: no names of tables or callers, so that there are few series and no secrets."""

    def __init__(self, pool: Pool) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "lancespace_request_seconds",
            "Time from the head of a request to the end of its answer.",
            ("operation", "status"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._bytes = Counter(
            "lancespace_body_bytes", "Bytes of Arrow data, by direction.", ("direction",), registry=self._registry
        )
        self._received, self._sent = self._bytes.labels("in"), self._bytes.labels("out")
        self._under_way = Gauge(
            "lancespace_requests_under_way",
            "Requests that were admitted and are not over, as each worker last noted.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._unusable = Gauge(
            "lancespace_unusable_files",
            "Files of keys and policies that have changed to something that cannot be used, per worker at most.",
            registry=self._registry,
            multiprocess_mode="livemax",
        )
        self._pool = pool
        self._noted = 0
        self._series: dict[tuple[str, int], Histogram] = {}

    def observe(self, operation: str, status: int, seconds: float, received: int, sent: int) -> None:
        """Count one request."""
        series = self._series.get((operation, status))
        if series is None:
            series = self._series[operation, status] = self._seconds.labels(operation, str(status))
        series.observe(seconds)
        self._note_under_way()
        if received:
            self._received.inc(received)
        if sent:
            self._sent.inc(sent)

    def render(self) -> bytes:
        """All numbers, ready to be scraped."""
        self._note_under_way()
        self._unusable.set(count_failed())
        registry = self._registry
        if SHARED_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
        return text

    def _note_under_way(self) -> None:
        """Write only what changed: where workers share their numbers, each is a write to a file in memory."""
        if self._noted != self._pool.admitted:
            self._noted = self._pool.admitted
            self._under_way.set(self._noted)

"""``wrappers=metrics``: counts and latency histograms per operation, as OpenMetrics text."""

from __future__ import annotations

import bisect
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lancespace._wrappers.base import ObservingWrapper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from lancespace._connection import Connection
    from lancespace._operations import Operation

BUCKETS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
"""Upper bounds of the histogram in seconds."""


@dataclass
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect.bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class MetricsRegistry:
    """The numbers of one process; every connection with the wrapper adds to the same ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histograms: dict[tuple[str, str], _Histogram] = defaultdict(_Histogram)

    def observe(self, operation: str, outcome: str, seconds: float) -> None:
        """Count one call."""
        with self._lock:
            self._histograms[operation, outcome].observe(seconds)

    def render(self) -> str:
        """All numbers as OpenMetrics text, ready to be scraped."""
        with self._lock:
            lines = [line for key in sorted(self._histograms) for line in self._series(*key, self._histograms[key])]
        name = "lancespace_operation_seconds"
        header = [
            f"# TYPE {name} histogram",
            f"# UNIT {name} seconds",
            f"# HELP {name} Time per operation and outcome.",
        ]
        return "\n".join([*header, *lines, "# EOF"]) + "\n"

    def _series(self, operation: str, outcome: str, histogram: _Histogram) -> Iterator[str]:
        labels = f'operation="{operation}",outcome="{outcome}"'
        running = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), histogram.counts, strict=True):
            running += count
            yield f'lancespace_operation_seconds_bucket{{{labels},le="{bound}"}} {running}'
        yield f"lancespace_operation_seconds_count{{{labels}}} {running}"
        yield f"lancespace_operation_seconds_sum{{{labels}}} {histogram.total:.9f}"


METRICS = MetricsRegistry()
"""What the wrapper counts into, and what a /metrics endpoint renders."""


class MetricsWrapper(ObservingWrapper):
    """Times every operation."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.registry = METRICS

    def observe(self, operation: Operation, request: BaseModel, outcome: str, seconds: float) -> None:  # noqa: ARG002
        """Count the call under its operation and outcome."""
        self.registry.observe(operation.name, outcome, seconds)

"""How often each operation was called, as the Rust implementation's namespaces tell it."""

from __future__ import annotations

import threading
from collections import Counter


class CallCounts:
    """Counts calls by operation, or nothing at all; many threads may count at once."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, operation: str) -> None:
        """Count one call."""
        if self._enabled:
            with self._lock:
                self._counts[operation] += 1

    def read(self) -> dict[str, int]:
        """The counts so far."""
        with self._lock:
            return dict(self._counts)

    def reset(self) -> None:
        """Begin anew."""
        with self._lock:
            self._counts.clear()

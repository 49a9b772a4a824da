"""Request rates: each name has a bucket of tokens that fills steadily, and a request takes one."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

from lancespace_server import failures

_MOST_NAMES = 10_000
"""So many names are remembered; the one that has not been seen for the longest is forgotten first."""


class Rates:
    """The requests of each name in a second; a second's worth may come at once. Used on the event loop only."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Count a request.

        Raises:
            Failure: 429 if there were too many; it says when to come back.
        """
        limit = self._limit
        if limit is None:
            return
        now = time.monotonic()
        tokens, since = self._buckets.pop(name, (float(limit), now))
        tokens = min(float(limit), tokens + (now - since) * limit)
        self._buckets[name] = max(tokens - 1, 0.0) if tokens >= 1 else tokens, now
        if len(self._buckets) > _MOST_NAMES:
            self._buckets.popitem(last=False)
        if tokens < 1:
            raise failures.too_fast(name, limit, math.ceil((1 - tokens) / limit))

    def give_back(self, name: str) -> None:
        """Undo :meth:`take`: the request is counted elsewhere."""
        if self._limit is not None and name in self._buckets:
            tokens, since = self._buckets[name]
            self._buckets[name] = tokens + 1, since

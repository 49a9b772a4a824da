"""Which operations are answered so fast that handing them to a thread would take longer than the answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from lancespace.operations import Kind, Operation

FAST_SECONDS = 0.005
"""An answer from memory takes a hundredth of this; one that asks a store over a network takes longer."""

TRUST = 20
"""So many fast answers, given by threads, must have been seen."""

MOST_TRUST, LOST_TRUST = 200, 100
"""A fast answer earns trust, up to a point, and a slow one loses much of it: on a busy machine any answer is slow now
and then, because the process had to wait for its turn; two in a row are the store's own."""


class Pace:
    """Watches how long metadata reads take, and says when the event loop may answer them itself.

    So a catalog in memory or on a local disk is answered without a thread, and one behind a network never is. What is
    given up: a store that was fast and then hangs keeps the event loop of one worker waiting, twice at most.
    """

    def __init__(self) -> None:
        self._trust: Counter[str] = Counter()

    def is_fast(self, operation: Operation) -> bool:
        """Whether to run the operation right here."""
        return self._trust[operation.name] >= TRUST

    def run(self, operation: Operation, function: Callable[[], Any]) -> Any:
        """Call the function, watched if the operation might be a fast one."""
        if operation.writes or operation.kind is not Kind.METADATA:
            return function()
        started = time.perf_counter()
        try:
            return function()
        finally:
            trust = self._trust[operation.name]
            if time.perf_counter() - started > FAST_SECONDS:
                self._trust[operation.name] = max(trust - LOST_TRUST, 0)
            elif trust < MOST_TRUST:
                self._trust[operation.name] = trust + 1

"""How much time is left for what runs, once the process was told to stop."""

from __future__ import annotations

import time

_LEAST_SECONDS = 0.5
"""What was broken off for lack of time gets a moment to notice."""


class Stop:
    """The moment at which the process was told to stop: its HTTP server hears of it, others have to know."""

    def __init__(self) -> None:
        self._began: float | None = None

    def begin(self) -> None:
        """It is told now."""
        self._began = time.monotonic()

    def left(self, seconds: float) -> float:
        """What is left of ``seconds`` since the stop began."""
        passed = 0.0 if self._began is None else time.monotonic() - self._began
        return max(seconds - passed, _LEAST_SECONDS)


STOP = Stop()
"""That of this process."""

"""Which operations are answered so fast that handing them to a thread would take longer than the answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from lancespace.authoring import Kind, Operation

FAST_SECONDS = 0.005
"""An answer from memory takes a hundredth of this; one that asks a store over a network takes longer."""

TRUST = 20
"""So many fast answers, given by threads, must have been seen."""

MOST_TRUST, LOST_TRUST = 200, 100
"""A fast answer earns trust, up to a point, and a slow one loses much of it: on a busy machine any answer is slow now
and then, because the process had to wait for its turn; two in a row are the store's own."""


STALL_SECONDS = 0.1
"""An answer of the event loop that takes longer is felt by everybody else."""

DOUBT_SECONDS, MOST_DOUBT_SECONDS = 10.0, 3600.0
"""How long nothing is trusted after such an answer; twice as long after another one that comes soon."""

CALM = 10
"""What is soon: so many times as long as the doubt lasted. Later, it is no habit of the store, but a busy machine."""


class Pace:
    """Watches how long metadata reads take, and says when the event loop may answer them itself.

    So a catalog in memory or on a local disk is answered without a thread, and one behind a network never is. What is
    given up: a store that was fast and then hangs keeps the event loop of one worker waiting, once. Then threads answer
    everything for a while, so that one slow table among fast ones does not hold up all others again and again.
    """

    def __init__(self) -> None:
        self._trust: Counter[str] = Counter()
        self._doubt = DOUBT_SECONDS
        self._trusts_from = float("-inf")

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
            self._note(operation.name, started, time.perf_counter())

    def _note(self, name: str, started: float, ended: float) -> None:
        trust, seconds = self._trust[name], ended - started
        if seconds <= FAST_SECONDS:
            if trust < MOST_TRUST and ended >= self._trusts_from:
                self._trust[name] = trust + 1
        elif seconds > STALL_SECONDS and trust >= TRUST:
            self._doubt_all(ended)
        else:
            self._trust[name] = max(trust - LOST_TRUST, 0)

    def _doubt_all(self, now: float) -> None:
        is_soon = now - self._trusts_from < CALM * self._doubt
        self._doubt = min(2 * self._doubt, MOST_DOUBT_SECONDS) if is_soon else DOUBT_SECONDS
        self._trust.clear()
        self._trusts_from = now + self._doubt

"""Doing the same thing at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from lancespace_testing.client import code_of

THREADS = 8


@dataclass(frozen=True)
class Outcomes:
    """How a race ended: the answers of those who succeeded, and the errors of the others, by their numbers."""

    won: dict[int, Any]
    lost: dict[int, BaseException]

    def winner(self, codes: Collection[str]) -> int:
        """The number of the only one who succeeded; the others must have lost with one of these codes."""
        self.check_losers(codes)
        (number,) = self.won
        return number

    def check_losers(self, codes: Collection[str], *, among: Collection[int] | None = None) -> None:
        """Fail, showing the error, if one of the losers did not lose with one of these codes."""
        for who, error in self.lost.items():
            if (among is None or who in among) and code_of(error) not in codes:
                raise AssertionError(
                    f"a loser may get {' or '.join(sorted(codes))}, but one got {code_of(error)}: {error}"
                ) from error


def race(act: Callable[[int], Any], *, threads: int = THREADS) -> Outcomes:
    """Run ``act(0)``, ``act(1)`` ... in threads that start together, and wait for all."""
    start = threading.Barrier(threads)

    def run(number: int) -> Any:
        start.wait()
        return act(number)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(run, number) for number in range(threads)]
    for skipped in (future.exception() for future in futures):
        if isinstance(skipped, pytest.skip.Exception):
            raise skipped
    errors = {number: future.exception() for number, future in enumerate(futures)}
    return Outcomes(
        won={number: futures[number].result() for number, error in errors.items() if error is None},
        lost={number: error for number, error in errors.items() if error is not None},
    )

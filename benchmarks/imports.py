"""How long imports take, each in a process of its own."""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.report import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 5
CASES = {
    "import lancespace": "below 150 ms",
    "import lancespace._operations, lancespace.registry": "",
    "from lancespace import connect": "",
    "import lancespace_tables._memory": "",
    "import lance_namespace": "",
    "import lance": "",
}
TIMER = "import time; started = time.perf_counter(); {statement}; print(time.perf_counter() - started)"


def run() -> Iterator[Result]:
    """The package itself, what its parts load on use, and its heaviest dependencies for comparison."""
    for statement, goal in CASES.items():
        yield Result(statement, {"median_ms": statistics.median(_milliseconds(statement) for _ in range(ROUNDS))}, goal)


def _milliseconds(statement: str) -> float:
    command = [sys.executable, "-c", TIMER.format(statement=statement)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(answer.stdout) * 1000

"""Results, for machines and for people."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Result:
    """One measured case."""

    case: str
    numbers: dict[str, float]
    """By name; the name has the unit, e.g. `overhead_us`."""
    goal: str = ""
    """What was aimed at, in words; measuring it is ours, judging it is the reader's."""


def as_json(benchmark: str, result: Result) -> str:
    """One line per result, to be collected over time."""
    numbers = {name: round(value, 3) for name, value in result.numbers.items()}
    return json.dumps({"benchmark": benchmark, "case": result.case, **numbers, "goal": result.goal})


def as_table(results: Sequence[Result]) -> str:
    """Cases below each other, numbers aligned."""
    names = list(dict.fromkeys(name for result in results for name in result.numbers))
    rows = [["case", *names, "goal"]]
    for result in results:
        numbers = [f"{result.numbers[name]:.2f}" if name in result.numbers else "" for name in names]
        rows.append([result.case, *numbers, result.goal])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: list[str], widths: list[int]) -> str:
    first, *numbers, last = row
    cells = [
        first.ljust(widths[0]),
        *(cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=False)),
        last,
    ]
    return "  ".join(cells).rstrip()

"""The order of steps: whoever fills a table comes before those who read it; otherwise the order of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    from lancespace_spark.pipeline.model import Step

_QUOTES = re.compile(r'["`]')


def ordered(steps: Sequence[Step]) -> list[Step]:
    """The steps as they run.

    Raises:
        InvalidInputError: If two have one name, or they wait for each other.
    """
    by_name = {step.name: step for step in steps}
    if len(by_name) != len(steps):
        twice = next(step.name for step in steps if sum(step.name == other.name for other in steps) > 1)
        raise InvalidInputError(f"two steps are called {twice!r}: a step is known by its name")
    waiting = {step.name: set(_before(step, number, steps, by_name)) for number, step in enumerate(steps)}
    _refuse_cycles(waiting)
    found: list[Step] = []
    while len(found) < len(steps):
        done = {step.name for step in found}
        found.append(next(step for step in steps if step.name not in done and waiting[step.name] <= done))
    return found


def _refuse_cycles(waiting: Mapping[str, set[str]]) -> None:
    try:
        TopologicalSorter(waiting).prepare()
    except CycleError as error:
        raise InvalidInputError(f"the steps {' → '.join(error.args[1])} wait for each other") from error


def _before(step: Step, number: int, steps: Sequence[Step], by_name: Mapping[str, Step]) -> list[str]:
    unknown = [name for name in step.after if name not in by_name]
    if unknown:
        raise InvalidInputError(f"step {step.name!r} comes after {unknown[0]!r}, which is no step")
    fills = [other.name for other in steps if other is not step and _makes(other) and _reads(step, other.writes)]
    same = (other for other in steps[:number] if other.writes == step.writes)
    touches = [other.name for other in same if _makes(other) or not _makes(step)]
    return [*step.after, *fills, *touches]


def _makes(step: Step) -> bool:
    """Whether there are rows where it writes because of it."""
    return "into" in step.fields or step.kind == "view"


def _reads(step: Step, table: str) -> bool:
    """Whether a table is what the step works on, or is named in its SQL."""
    if step.reads == table:
        return True
    text = _QUOTES.sub("", str(step.get("sql", "")))
    return step.writes != table and re.search(rf"(?<![\w.]){re.escape(table)}(?![\w.])", text) is not None

"""Histories of concurrent calls on one name, and whether they can be put in an order that explains them.

A history is linearizable if each call can be given one moment between its start and its end at which it happens
wholly, such that all answers are right. This is the search of Wing and Gong with memory: pick any call that started
before every other remaining one ended, see whether its answer fits, go on with the rest. Names are independent, so
each has its own.
"""

from __future__ import annotations

from dataclasses import dataclass

NEVER = 2**63
"""The end of a call that was never answered."""

CREATE, DROP, EXISTS = "create", "drop", "exists"


@dataclass(frozen=True)
class Call:
    """One call on a name: ``answer`` is True if it did what it is called or found the name, None if nobody knows."""

    action: str
    answer: bool | None
    start: int
    end: int


def is_linearizable(history: list[Call]) -> bool:
    """Whether the calls, on a name that is absent at first, can be explained one after the other."""
    calls = sorted(history, key=lambda call: call.start)
    failed: set[tuple[frozenset[int], bool]] = set()

    def explain(remaining: frozenset[int], present: bool) -> bool:
        if all(calls[number].answer is None for number in remaining):
            return True
        if (remaining, present) in failed:
            return False
        first_end = min(calls[number].end for number in remaining)
        for number in sorted(remaining):
            if calls[number].start > first_end:
                break
            if any(explain(remaining - {number}, then) for then in _outcomes(calls[number], present)):
                return True
        failed.add((remaining, present))
        return False

    return explain(frozenset(range(len(calls))), present=False)


def _outcomes(call: Call, present: bool) -> list[bool]:
    """The states that a call may leave a name in; none if its answer cannot be right."""
    if call.action == EXISTS:
        return [present] if call.answer is present else []
    succeeds = present == (call.action == DROP)
    after = call.action == CREATE
    if call.answer is None:  # It may have happened, or not.
        return [present, after] if succeeds else [present]
    if call.answer:
        return [after] if succeeds else []
    return [] if succeeds else [present]

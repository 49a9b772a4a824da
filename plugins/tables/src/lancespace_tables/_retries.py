"""Trying again after other writers have changed a table that a commit is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lance_namespace import ConcurrentModificationError

from lancespace.authoring import Work

Result = TypeVar("Result")

ROUNDS = 20


def in_rounds(about: str, work: Work | None, attempt: Callable[[], Result]) -> Result:
    """Run an attempt until its commit does not conflict with another writer's; ``work`` reports each repeat.

    Raises:
        ConcurrentModificationError: There was a conflict too many times.
    """
    for _ in range(ROUNDS):
        try:
            return attempt()
        except ConcurrentModificationError as error:
            if work is not None:
                work.report(0.0, f"others have changed the table, trying again: {error}")
    raise ConcurrentModificationError(
        f"{about} was changed by others {ROUNDS} times in a row: send the request again when there is less going on"
    )

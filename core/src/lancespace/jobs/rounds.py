"""Trying again after others have changed a table: what every job does that commits on top of a version."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError

if TYPE_CHECKING:
    from lancespace.engines import Work

ROUNDS = 10


def in_rounds(about: str, work: Work, attempt: Callable[[], None]) -> None:
    """Run an attempt until its commit does not meet another writer's.

    Raises:
        ConcurrentModificationError: If others were faster too many times.
    """
    for _ in range(ROUNDS):
        try:
            attempt()
        except ConcurrentModificationError as error:
            work.report(0.0, f"others have changed the table, trying again: {error}")
        else:
            return
    raise ConcurrentModificationError(
        f"{about} was changed by others {ROUNDS} times in a row: send the request again when there is less going on"
    )

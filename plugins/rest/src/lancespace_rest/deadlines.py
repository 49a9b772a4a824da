"""The time that an operation has as a whole."""

from __future__ import annotations

import time

from lance_namespace import ServiceUnavailableError


class Deadline:
    """Counts from when it is made; without seconds, it never passes."""

    def __init__(self, seconds: float | None, about: str) -> None:
        self._seconds = seconds
        self._about = about
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds that are left; infinity without an end.

        Raises:
            ServiceUnavailableError: If none are.
        """
        left = float("inf") if self._end is None else self._end - time.monotonic()
        if left <= 0:
            raise ServiceUnavailableError(
                f"{self._about}: it took longer than timeout.total ({self._seconds:g} s). "
                "If it was to change something, it may have: look before you repeat it."
            )
        return left

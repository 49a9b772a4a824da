"""Time limits for what a request waits for; much cheaper than a task of its own for each wait."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Deadline:
    """Around a block that awaits: if it takes longer, ``failure`` is raised in place of what it waits for."""

    __slots__ = ("_failure", "_is_over", "_task", "_timer")

    def __init__(self, seconds: float, failure: Callable[[], Exception]) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline needs a task")
        self._task = task
        self._failure = failure
        self._is_over = False
        self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    def __enter__(self) -> None:
        """Nothing to do: the time runs already."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._is_over and kind is asyncio.CancelledError:
            if sys.version_info >= (3, 11):
                self._task.uncancel()
            raise self._failure() from None

    def _expire(self) -> None:
        self._is_over = True
        self._task.cancel()

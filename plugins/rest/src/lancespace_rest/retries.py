"""When a request is repeated, and after which pause.

A repeat is safe if the operation only reads, or if the first request is known to have done nothing: the connection was
never made, or the server refused to begin (429). A write is safe to repeat if the server keeps idempotency keys: it
carries out a write with one key once.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from urllib3 import Retry
from urllib3.exceptions import InvalidHeader

from lancespace.authoring import Operation
from lancespace_rest.deadlines import Deadline

TOO_MANY_REQUESTS = 429
UNCERTAIN = frozenset({502, 503, 504})
"""Statuses of a gateway, which may have passed the request on."""
PASSING = UNCERTAIN | {408, TOO_MANY_REQUESTS}
"""Statuses after which the same may succeed another time."""
ONCE_MORE = frozenset({409, 503})
"""Statuses of a server that keeps idempotency keys: the first request is still running, or has not begun."""

_FIRST_PAUSE = 0.1


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently."""

    attempts: int
    max_wait: float

    def pause(self, attempt: int, asked: float | None) -> float | None:
        """Seconds to wait after the ``attempt``-th failure; None to give up.

        ``asked`` is what the server's Retry-After says: it is the least, and if it is too long, it is not waited for.
        """
        if attempt >= self.attempts or (asked or 0) > self.max_wait:
            return None
        longest = min(self.max_wait, _FIRST_PAUSE * 2**attempt)
        jitter = random.uniform(0, longest)  # noqa: S311 - it spreads clients, it hides nothing
        return jitter if asked is None else min(asked + jitter, self.max_wait)


class Attempts:
    """Counts the attempts at one thing, and waits between them."""

    def __init__(self, policy: RetryPolicy, deadline: Deadline) -> None:
        self._policy = policy
        self._deadline = deadline
        self.failed = 0

    @property
    def has_more(self) -> bool:
        """Whether another attempt is allowed after the one that is under way."""
        return self.failed + 1 < self._policy.attempts

    def wait(self, asked: float | None = None) -> bool:
        """Pause after an attempt that failed; False if there is to be no other, or no time for one."""
        self.failed += 1
        pause = self._policy.pause(self.failed, asked)
        if pause is None or pause >= self._deadline.left:
            return False
        time.sleep(pause)
        return True


def is_safe_after_status(operation: Operation, status: int, *, comes_back: bool = False) -> bool:
    """Whether to repeat an operation that was answered with an error.

    ``comes_back`` says that the server keeps the key of this request, and asks for it once more (Retry-After).
    """
    if status == TOO_MANY_REQUESTS or (comes_back and status in ONCE_MORE):
        return True
    return status in PASSING and not operation.writes


def retry_after(text: str | None) -> float | None:
    """The seconds that a Retry-After header asks for, in either of its forms; None if it asks for nothing readable."""
    try:
        return None if text is None else float(Retry().parse_retry_after(text))
    except InvalidHeader:
        return None

"""The time that an operation has as a whole."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lance_namespace import ServiceUnavailableError


class Deadline:
    """Counts from when it is made; without seconds, it never passes."""

    def __init__(self, seconds: float | None, about: str) -> None:
        self._seconds = seconds
        self._about = about
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, or by which it has passed; infinity without an end."""
        return float("inf") if self._end is None else self._end - time.monotonic()

    def remaining(self) -> float:
        """Seconds that are left.

        Raises:
            ServiceUnavailableError: If none are.
        """
        left = self.left
        if left <= 0:
            raise ServiceUnavailableError(
                f"{self._about}: it took longer than timeout.total ({self._seconds:g} s). "
                "If it was to change something, it may have: look before you repeat it."
            )
        return left

    def limit(self, sock: socket.socket | None) -> None:
        """Let a socket wait no longer than there is time; called before each piece of data is sent or received.

        Raises:
            ServiceUnavailableError: If there is none.
        """
        if self._end is None:
            return
        left = self.remaining()
        if sock is not None and sock.fileno() != -1:  # It is open.
            sock.settimeout(min(left, sock.gettimeout() or left))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have everything that this thread sends meanwhile keep this deadline, an auth method's requests too."""
        token = _RUNNING.set(self)
        try:
            yield
        finally:
            _RUNNING.reset(token)


_RUNNING: ContextVar[Deadline] = ContextVar("deadline", default=Deadline(None, ""))  # noqa: B039 - it does not change


def current() -> Deadline:
    """The deadline of the operation that this thread is about."""
    return _RUNNING.get()

"""Waiting for what the spec lets a backend do after its answer: index builds and jobs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE = 30.0
"""Seconds to wait in all."""

_PAUSE = 0.02


def until(look: Callable[[], Found], enough: Callable[[Found], bool]) -> Found:
    """What is found, once it is enough; a backend that is done with its answer is never waited for."""
    deadline = time.monotonic() + PATIENCE
    while not enough(found := look()):
        assert time.monotonic() < deadline, f"it took more than {PATIENCE:g} s; the last look showed {found!r}"
        time.sleep(_PAUSE)
    return found

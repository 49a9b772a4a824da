"""Whether a caller that waits has got anything: who came first is told by that, and not by a clock."""

from __future__ import annotations

import select
import socket


def has_answer(waiting: socket.socket) -> bool:
    """Whether there is something to read, or the server hung up."""
    readable, _, _ = select.select([waiting], [], [], 0)
    return bool(readable)

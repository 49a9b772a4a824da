"""Forked processes, such as those of ``multiprocessing`` with the start method "fork".

A fork copies no threads, and copies locks as they are. Lance works with threads: a child of a process that has used it
crashes or hangs when it uses Lance too, also in tables that it opens itself (pylance 14.0.2). So it gets an error at
once. Clients of servers are made anew instead.
"""

from __future__ import annotations

import os
from pathlib import Path

_THREADS = Path("/proc/self/task")
"""Where Linux shows the threads of this process."""


class Process:
    """What this process has inherited."""

    def __init__(self) -> None:
        self.generation = 0
        """How many forks led from the first process to this one."""
        self._has_used_lance = False
        self._may_use_lance = True

    def use_lance(self) -> None:
        """Note that Lance is used here.

        Raises:
            UnsupportedOperationError: If the process was forked by one that has used it.
        """
        if not self._may_use_lance:
            from lance_namespace import UnsupportedOperationError

            raise UnsupportedOperationError(
                "Lance does not work in a forked process whose parent has used it: start processes with the method "
                "'spawn' or 'forkserver', e.g. multiprocessing.set_start_method(\"spawn\") or "
                'DataLoader(..., multiprocessing_context="spawn"). Namespaces can be sent to them: each process '
                "connects anew."
            )
        self._has_used_lance = True

    def about_to_fork(self) -> None:
        """Find out whether Lance was used by its own functions, without a namespace: by its threads, on Linux only."""
        self._has_used_lance = self._has_used_lance or _has_threads_of_lance()

    def forked(self) -> None:
        """Begin life as a child."""
        self.generation += 1
        self._may_use_lance = self._may_use_lance and not self._has_used_lance


def _has_threads_of_lance() -> bool:
    return any(_name(thread).startswith("lance") for thread in _THREADS.glob("*/comm"))


def _name(thread: Path) -> str:
    try:
        return thread.read_text()
    except OSError:  # It has ended.
        return ""


process = Process()

if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(before=process.about_to_fork, after_in_child=process.forked)

"""Refreshing views when their sources change: one job for a view at a time, not more often than the settings allow."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from lancespace.authoring import Job, JobStatus, Work

Names = tuple[str, ...]

_POLL = 0.05


@dataclass
class _Watched:
    names: Names
    changes: int = 0
    """How often its sources changed since a refresh was last started."""
    started: float = float("-inf")
    job_id: str | None = None
    timer: threading.Timer | None = None


class AutoRefresh:
    """Counts the changes that a connection makes, and starts refreshes. Safe to use from many threads."""

    def __init__(
        self,
        refresh: Callable[[Names, Work], None],
        submit: Callable[[Job], str],
        describe: Callable[[str], JobStatus | None],
        *,
        threshold: int,
        cooldown: float,
    ) -> None:
        self._refresh = refresh
        self._submit = submit
        self._describe = describe
        self._threshold = threshold
        self._cooldown = cooldown
        self._lock = threading.RLock()
        self._watched: dict[Names, _Watched] = {}

    def changed(self, view: Names) -> None:
        """A source of the view has changed."""
        with self._lock:
            watched = self._watched.setdefault(view, _Watched(view))
            watched.changes += 1
            self._consider(watched)

    def finish(self) -> None:
        """Start what is due without waiting for it to cool down, and wait until all is done."""
        self._cooldown = 0.0
        while True:
            with self._lock:
                for watched in self._watched.values():
                    self._consider(watched)
                if not any(map(self._is_busy, self._watched.values())):
                    return
            time.sleep(_POLL)

    def _consider(self, watched: _Watched) -> None:
        """Start a refresh if one is due; if it is too early, later."""
        if watched.changes < self._threshold or self._is_busy(watched):
            return
        if watched.timer is not None:
            watched.timer.cancel()
            watched.timer = None
        early = watched.started + self._cooldown - time.monotonic()
        if early > 0:
            watched.timer = threading.Timer(early, contextvars.copy_context().run, [self._on_time, watched])
            watched.timer.daemon = True
            watched.timer.start()
            return
        watched.changes, watched.started = 0, time.monotonic()
        job = Job("refresh", ".".join(watched.names), lambda work: self._run(watched, work))
        watched.job_id = self._submit(job)

    def _on_time(self, watched: _Watched) -> None:
        with self._lock:
            self._consider(watched)

    def _run(self, watched: _Watched, work: Work) -> None:
        """Refresh, and again if sources changed meanwhile: those changes may have come too late for this one."""
        try:
            self._refresh(watched.names, work)
        finally:
            with self._lock:
                watched.job_id = None
                self._consider(watched)

    def _is_busy(self, watched: _Watched) -> bool:
        """Whether a job is under way; one that was cancelled before it began never says that it ended."""
        status = None if watched.job_id is None else self._describe(watched.job_id)
        return status is not None and not status.state.is_final

"""Following a job to its end: a bar in the terminal, and Ctrl-C that stops the job and not only the watching."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lancespace.engines import JobState
from lancespace_cli import exits
from lancespace_cli.values import speed

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.jobs import SubmittedJob
    from lancespace_cli.output import Output

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 0.5


@dataclass(frozen=True)
class Look:
    """How a job is doing."""

    state: JobState
    fraction: float
    message: str
    rows: int | None = None
    rate: float | None = None


class Followed(Protocol):
    """A job, whoever runs it."""

    id: str

    def look(self) -> Look:
        """How it is doing now."""

    def cancel(self) -> None:
        """Have it stop at its next safe point."""


class EngineJob:
    """A job that this process runs."""

    def __init__(self, submitted: SubmittedJob) -> None:
        self.id = submitted.id
        self._submitted = submitted

    def look(self) -> Look:
        """Ask the engine."""
        status = self._submitted.status()
        return Look(status.state, status.fraction, status.message, status.rows, status.rate)

    def cancel(self) -> None:
        """Tell the engine."""
        self._submitted.cancel()


class Transaction:
    """A job that any process runs, asked for by its id."""

    def __init__(self, namespace: Namespace, job_id: str) -> None:
        self.id = job_id
        self._namespace = namespace

    def look(self) -> Look:
        """What describe_transaction says."""
        found = self._namespace.describe_transaction([self.id])
        known: dict[str, Any] = found.properties or {}
        rows, rate = known.get("rows"), known.get("rows_per_second")
        return Look(
            JobState(found.status),
            float(known.get("fraction", 0)),
            known.get("message", ""),
            None if rows is None else int(rows),
            None if rate is None else float(rate),
        )

    def cancel(self) -> None:
        """Ask whoever runs it."""
        self._namespace.alter_transaction([self.id], actions=[{"set_status_action": {"status": "Canceled"}}])


def follow(output: Output, job: Followed, title: str, noun: str = "row") -> Look:
    """Wait for the end of a job; ``noun`` is what it counts.

    Raises:
        LanceNamespaceError: If it does not succeed: of the class that the job failed with, where its message tells.
        KeyboardInterrupt: After Ctrl-C, when the job has stopped. A second Ctrl-C ends the process at once.
    """
    try:
        last = _watch(output, job, title, noun)
    except KeyboardInterrupt:
        output.remark("Stopping at the next safe point. Ctrl-C again ends at once.")
        _stop(job)
        raise
    if last.state is not JobState.SUCCEEDED:
        raise _failure(job, title, last.message)
    return last


def _watch(output: Output, job: Followed, title: str, noun: str) -> Look:
    with output.progress() as progress:
        bar = progress.add_task(title, total=None, rows="")

        def show(look: Look) -> None:
            total = 1.0 if look.fraction else None  # Until there is something to tell, the bar only moves.
            progress.update(bar, completed=look.fraction, total=total, rows=_speed(look, noun), description=title)

        return _until_over(job, show)


def _stop(job: Followed) -> None:
    try:
        job.cancel()
        _until_over(job, lambda _: None)
    except KeyboardInterrupt:
        os._exit(exits.INTERRUPTED)


def _until_over(job: Followed, show: Callable[[Look], None]) -> Look:
    pause = _FIRST_PAUSE
    while True:
        look = job.look()
        show(look)
        if look.state.is_final:
            return look
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _speed(look: Look, noun: str) -> str:
    return speed(look.rows, look.rate, noun) if look.rows else ""


def _failure(job: Followed, title: str, message: str) -> Exception:
    import lance_namespace

    from lancespace.jobs import JobFailedError

    name, _, reason = message.partition(": ")
    kind = getattr(lance_namespace, name, None)
    is_spec = isinstance(kind, type) and issubclass(kind, lance_namespace.LanceNamespaceError)
    known: type[Exception] = kind if is_spec and kind is not None else JobFailedError
    return known(f"{title}: {reason if is_spec else message} (job {job.id})")

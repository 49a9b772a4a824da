"""Running a job: a bar in the terminal, and Ctrl-C that stops the job and not only the watching."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from lancespace_cli import background, exits
from lancespace_cli.values import counted, speed

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.authoring import JobStatus
    from lancespace_cli.output import Output
    from lancespace_cli.state import State

NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Print the job's id at once; the job goes on in the background.")
]

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 0.5


class RunningJob(Protocol):
    """A job to follow: what the engine of this process runs, or a :class:`Transaction`."""

    id: str

    def status(self) -> JobStatus:
        """How it is doing now."""

    def cancel(self) -> None:
        """Have it stop at its next safe point."""


class Transaction:
    """A job that any process may run, asked for by its id."""

    def __init__(self, namespace: Namespace, job_id: str) -> None:
        self.id = job_id
        self._namespace = namespace

    def status(self) -> JobStatus:
        """What describe_transaction says."""
        from lancespace.authoring import JobState, JobStatus

        found = self._namespace.describe_transaction([self.id])
        known = found.properties or {}
        return JobStatus(
            self.id,
            known.get("kind", ""),
            known.get("about", ""),
            JobState(found.status),
            float(known.get("fraction", 0)),
            known.get("message", ""),
            int(known["rows"]) if "rows" in known else None,
            started_at=_seconds(known.get("started_at")),
            updated_at=_seconds(known.get("updated_at")) or 0,
        )

    def cancel(self) -> None:
        """Ask the process that runs it."""
        self._namespace.alter_transaction([self.id], actions=[{"set_status_action": {"status": "Canceled"}}])


def run_job(
    state: State, title: str, submit: Callable[[], RunningJob], *, no_wait: bool = False, noun: str = "row"
) -> None:
    """Submit a job, follow it or leave it in the background, and print its outcome; ``noun`` is what it counts."""
    if no_wait and not background.is_background():
        job_id = background.start()
        return state.output.json({"job_id": job_id}) if state.output.as_json else state.output.lines([job_id])
    job = submit()
    if background.is_background():
        background.detach(job.id)
    last = follow(state.output, job, title, noun)
    summary = "done" if last.rows is None else counted(last.rows, noun)
    return state.output.done(f"{title}: {summary}", job_id=job.id, status=last.state.value, rows=last.rows)


def follow(output: Output, job: RunningJob, title: str, noun: str = "row") -> JobStatus:
    """Wait for the end of a job; ``noun`` is what it counts.

    Raises:
        LanceNamespaceError: If it does not succeed: of the class that the job failed with, where its message names it.
        KeyboardInterrupt: After Ctrl-C, when the job has stopped. A second Ctrl-C ends the process at once.
    """
    from lancespace.authoring import JobState

    try:
        last = _watch(output, job, title, noun)
    except KeyboardInterrupt:
        output.remark("Stopping at the next safe point. Ctrl-C again ends at once.")
        _stop(job)
        raise
    if last.state is not JobState.SUCCEEDED:
        raise _failure(job, title, last.message)
    return last


def _watch(output: Output, job: RunningJob, title: str, noun: str) -> JobStatus:
    with output.progress() as progress:
        bar = progress.add_task(title, total=None, rows="")

        def show(status: JobStatus) -> None:
            total = 1.0 if status.fraction else None  # Until something is known, the bar only moves.
            rows = speed(status.rows, status.rate, noun) if status.rows else ""
            progress.update(bar, completed=status.fraction, total=total, rows=rows)

        return _until_over(job, show)


def _stop(job: RunningJob) -> None:
    try:
        job.cancel()
        _until_over(job, lambda _: None)
    except KeyboardInterrupt:
        os._exit(exits.INTERRUPTED)


def _until_over(job: RunningJob, show: Callable[[JobStatus], None]) -> JobStatus:
    pause = _FIRST_PAUSE
    while True:
        status = job.status()
        show(status)
        if status.state.is_final:
            return status
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _failure(job: RunningJob, title: str, message: str) -> Exception:
    import lance_namespace

    class JobFailedError(lance_namespace.InternalError):
        """A job failed for a reason that is no error of the spec, or was cancelled."""

    name, _, reason = message.partition(": ")
    kind = getattr(lance_namespace, name, None)
    if isinstance(kind, type) and issubclass(kind, lance_namespace.LanceNamespaceError):
        return kind(f"{title}: {reason} (job {job.id})")
    return JobFailedError(f"{title}: {message} (job {job.id})")


def _seconds(time_text: str | None) -> float | None:
    return None if time_text is None else datetime.fromisoformat(time_text).timestamp()
